package dev.isthmus.gateway.settings;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** What a key of the configuration means, for its JSON Schema and for people. */
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.RECORD_COMPONENT, ElementType.TYPE})
public @interface Doc {

    /** A sentence or two. */
    String value();

    /** The key, where it is not the component's name in snake case. */
    String key() default "";
}
