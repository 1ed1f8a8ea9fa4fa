"""The extra spark: all that Spark and Spark Connect import. A session takes Java, and more time than there is here."""

import shutil

import pyspark.sql
import pyspark.sql.connect.session

from faircrowd.engines.spark import engine, session, votes

assert engine
assert votes
assert pyspark.sql.SparkSession
assert pyspark.sql.connect.session.SparkSession
if shutil.which("java") is not None:
    session.check_spark("local[1]")
session.check_spark("sc://somewhere")
