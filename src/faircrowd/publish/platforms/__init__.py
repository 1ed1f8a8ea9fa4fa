"""What each platform takes back: one module per platform, each with one ``PlatformForm``."""
