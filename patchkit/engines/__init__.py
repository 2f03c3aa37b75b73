"""Container engines and their stand-in behind one Protocol."""
