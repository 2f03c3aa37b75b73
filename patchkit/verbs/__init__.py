"""One verb a module: plain arguments in, a result out; no click, no print."""
