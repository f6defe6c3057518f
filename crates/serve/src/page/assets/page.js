// The page works without scripts; this module keeps an open run up to date.
