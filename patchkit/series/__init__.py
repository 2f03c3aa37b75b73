"""The series of a pin as contents: drafts, generated files, edits in a worktree."""
