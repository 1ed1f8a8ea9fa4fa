"""Files and folders: written whole or not at all, read with suspicion, removed when a run was killed."""
