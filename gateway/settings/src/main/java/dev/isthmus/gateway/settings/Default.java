package dev.isthmus.gateway.settings;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * The default of a configuration key. Keys without it have none, are false, or are empty: a list, a map, a section
 * with its own defaults.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.RECORD_COMPONENT)
public @interface Default {

    /** As in a file: one text, or those of a list. */
    String[] value();
}
