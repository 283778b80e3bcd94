package dev.isthmus.gateway.validation;

import dev.isthmus.gateway.settings.RequestValidation;
import dev.isthmus.oip.ModelRef;

/** What is configured for each model. Thread-safe. */
public interface ValidationRules {

    /** What happens to a request for a model that does not match. */
    RequestValidation mode(ModelRef requested);

    /** The model's name for metrics, from a bounded set. */
    String label(ModelRef requested);
}
