package dev.isthmus.gateway.settings;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a section that is read over the file's defaults for sections of its type, and needs none of their required
 * keys.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.RECORD_COMPONENT)
@interface DefaultsFrom {

    /** The key of the defaults, see {@link DefaultsKey}. Their section comes before this one in the file's record. */
    String value();
}
