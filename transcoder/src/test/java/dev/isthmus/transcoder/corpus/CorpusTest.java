package dev.isthmus.transcoder.corpus;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class CorpusTest {
    @Test
    void aMillionNumbers_areReadAndWrittenAsThePlatformDoes() {
        Corpus corpus = new Corpus(2);

        corpus.run(1_000_000);

        assertThat(corpus.wrong()).isZero();
        assertThat(corpus.read()).isGreaterThanOrEqualTo(1_000_000);
    }
}
