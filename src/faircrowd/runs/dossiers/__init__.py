"""The dossier of a run: read from its folder, written beside it, and made again by ``verify``."""
