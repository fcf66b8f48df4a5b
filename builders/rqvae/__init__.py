"""The residual-quantised autoencoder."""
