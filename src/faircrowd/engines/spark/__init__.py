"""Votes in Spark.

Read in this order: ``session`` (sessions, results and errors of Spark), ``java`` (Spark for one command), ``files``
(tables in and out of Spark), ``votes`` (what the driver knows about the votes), ``packing`` (from votes to packed
blocks), ``chunks`` and ``codes`` (rows as arrays, and the codes of their values), ``blocks`` (how blocks are packed),
``engine`` (kernels over the blocks), ``passes`` (what runs on the executors), ``garbage`` (what Python does after it),
``task_rows`` (results per task).
"""
