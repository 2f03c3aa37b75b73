"""What would become of a series along upstream's releases or commits, each touched file's content asked about once."""
