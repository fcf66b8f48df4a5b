"""The build pipeline: one module per step (docs/design/0001-architecture.md)."""
