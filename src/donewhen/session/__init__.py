"""One intent from start to end. So far this room holds the settings; the rest comes with sessions."""
