/** Microbenchmarks. Run: {@code ./mvnw -q -DskipTests package && java -cp ... dev.isthmus.bench.JsonTensorBenchmark}. */
@NullMarked
package dev.isthmus.bench;

import org.jspecify.annotations.NullMarked;
