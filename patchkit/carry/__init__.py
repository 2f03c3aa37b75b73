"""The rebase engine, one stage a module; pure: texts in, texts and decisions out."""
