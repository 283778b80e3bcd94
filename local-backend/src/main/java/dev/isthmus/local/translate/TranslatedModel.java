package dev.isthmus.local.translate;

import ai.djl.BaseModel;
import ai.djl.ndarray.types.DataType;
import java.nio.file.Path;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A model as its translator sees it: a name, arrays, and the files beside it. It has no block, because it is run
 * elsewhere.
 */
final class TranslatedModel extends BaseModel {

    /**
     * The model in a folder.
     *
     * @param arrays taken; closed with the model
     */
    TranslatedModel(String name, Path folder, ArrayManager arrays) {
        super(name);
        manager = arrays;
        modelDir = folder;
        dataType = DataType.FLOAT32;
    }

    @Override
    public void load(Path path, @Nullable String prefix, @Nullable Map<String, ?> options) {
        throw new UnsupportedOperationException("the model is loaded already");
    }
}
