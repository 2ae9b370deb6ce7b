"""When each operator runs: the state graph of finished operators, and the searches on it."""

from lowtide.order.best import OrderResult, best_order

__all__ = ["OrderResult", "best_order"]
