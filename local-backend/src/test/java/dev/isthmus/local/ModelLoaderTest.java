package dev.isthmus.local;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.local.ort.OnnxModel;
import dev.isthmus.local.repository.ModelRepository;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ModelLoaderTest {
    @Test
    void model_forWhichThereIsNoMemory_isClosedAgain() {
        List<OnnxModel> opened = new ArrayList<>();
        LoadThreads threads = new LoadThreads(Duration.ofMinutes(1));
        try (threads;
                LoadedModels models = new LoadedModels()) {
            ModelLoader loader = new ModelLoader(ModelRepository.of(null, true), models, "cpu", threads, model -> {
                opened.add(model);
                throw new OutOfMemoryError("this is a test");
            });
            assertThatThrownBy(() -> loader.load("simple"))
                    .hasMessage("model 'simple' is not loaded: version 1: it could not be loaded: out of memory");
        }
        assertThat(opened)
                .singleElement()
                .satisfies(model -> assertThat(model.retain()).isFalse());
    }
}
