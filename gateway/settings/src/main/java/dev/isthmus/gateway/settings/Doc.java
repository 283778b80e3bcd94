package dev.isthmus.gateway.settings;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** The description of a configuration key or section, for the JSON Schema and the reference. */
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.RECORD_COMPONENT, ElementType.TYPE})
public @interface Doc {

    /** A sentence or two. */
    String value();

    /** The key, if it is not the component's name in snake case. */
    String key() default "";
}
