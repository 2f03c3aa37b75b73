"""Verify's rules, one family a module; pure: a Subject in, findings out."""
