"""Fixtures of the engines' tests."""

from engines.spark_session import java, spark

__all__ = ["java", "spark"]
