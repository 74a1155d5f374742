"""The wheel and the source distribution: built twice, looked into, and tested where nothing else is installed."""
