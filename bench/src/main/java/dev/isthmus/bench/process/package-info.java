/** Child processes and temporary folders of benches. Measurements do not belong here. */
@NullMarked
package dev.isthmus.bench.process;

import org.jspecify.annotations.NullMarked;
