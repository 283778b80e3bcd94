package dev.isthmus.gateway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class TrainingRunTest {

    @Test
    void training_servesAndEnds() throws Exception {
        TrainingRun training = new TrainingRun(Duration.ofMillis(1));
        StringWriter out = new StringWriter();
        Console console = new Console(new PrintWriter(out), new PrintWriter(out), () -> false);
        assertThat(training.run(Arguments.of(training, List.of()), console)).isZero();
        assertThat(out.toString()).contains("serves REST and gRPC on 127.0.0.1");
    }
}
