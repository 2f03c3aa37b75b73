"""Python source as structure: scopes, parts that parse alone, guards; pure."""
