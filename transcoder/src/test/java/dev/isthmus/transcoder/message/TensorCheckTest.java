package dev.isthmus.transcoder.message;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class TensorCheckTest {

    /** The check is linear, even for the maximum number of tensors. */
    @Test
    void requireDistinct_looksAtEachNameOnce() {
        List<String> names = new ArrayList<>(IntStream.range(0, WireLimits.DEFAULT.tensors())
                .mapToObj(i -> "x" + i)
                .toList());
        AtomicInteger looks = new AtomicInteger();
        TensorCheck.INPUT.requireDistinct(names, name -> {
            looks.incrementAndGet();
            return name;
        });
        assertThat(looks).hasValue(names.size());
        names.add("x7");
        assertThatThrownBy(() -> TensorCheck.INPUT.requireDistinct(names, name -> name))
                .hasMessage("input 'x7' is given twice");
    }
}
