package dev.isthmus.local.translate;

import ai.djl.Model;
import ai.djl.modality.Input;
import ai.djl.modality.Output;
import ai.djl.translate.ServingTranslator;
import ai.djl.translate.TranslateException;
import ai.djl.translate.Translator;
import ai.djl.translate.TranslatorFactory;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.ServiceLoader;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The jars beside a model, with their own class loader. Classes that the gateway has (DJL, logging, Netty) are loaded
 * from the gateway, all others from the jars.
 */
final class TranslatorJar implements AutoCloseable {
    private final URLClassLoader classes;

    TranslatorJar(List<Path> jars) {
        URL[] urls = jars.stream().map(TranslatorJar::url).toArray(URL[]::new);
        classes = new URLClassLoader(urls, TranslatorJar.class.getClassLoader());
    }

    private static URL url(Path jar) {
        try {
            return jar.toUri().toURL();
        } catch (MalformedURLException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Runs an action with the jars' class loader as the thread's context class loader, which libraries use to load
     * classes by name.
     */
    <T> T withContextClassLoader(Supplier<T> action) {
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        thread.setContextClassLoader(classes);
        try {
            return action.get();
        } finally {
            thread.setContextClassLoader(before);
        }
    }

    /**
     * Creates the translator.
     *
     * @param name the class of a {@link Translator} or {@link TranslatorFactory}; null for the only one in the jars'
     *     META-INF/services
     * @throws OipException FAILED_PRECONDITION if there is none, or it does not accept {@link Input}
     */
    Translator<Input, Output> translator(@Nullable String name, Model model) {
        try {
            Class<?> type = name == null ? only() : Class.forName(name, true, classes);
            return of(type.getConstructor().newInstance(), model);
        } catch (OipException e) {
            throw e;
        } catch (ClassNotFoundException e) {
            throw refusal("the translator " + name + " is not in the jars beside the model", e);
        } catch (Throwable e) {
            // Third-party code may fail in any way; the message is only for the log.
            Throwable cause = e instanceof InvocationTargetException ? Objects.requireNonNullElse(e.getCause(), e) : e;
            throw refusal(
                    "the translator cannot be instantiated: " + cause.getClass().getSimpleName(), e);
        }
    }

    private Class<?> only() {
        List<? extends Class<?>> found = Stream.concat(
                        services(ServiceLoader.load(Translator.class, classes)),
                        services(ServiceLoader.load(TranslatorFactory.class, classes)))
                .toList();
        if (found.size() != 1) {
            throw refusal(
                    "the jars beside the model name " + found.size()
                            + " translators in META-INF/services; one is expected, or the parameter 'translator' in"
                            + " config.pbtxt",
                    null);
        }
        return found.getFirst();
    }

    private <S> Stream<Class<? extends S>> services(ServiceLoader<S> services) {
        return services.stream()
                .<Class<? extends S>>map(ServiceLoader.Provider::type)
                .filter(type -> type.getClassLoader() == classes);
    }

    private static Translator<Input, Output> of(Object made, Model model) throws TranslateException {
        Object translator = made;
        if (made instanceof TranslatorFactory factory) {
            translator = factory.newInstance(Input.class, Output.class, model, Map.of());
        }
        if (translator instanceof ServingTranslator serving) {
            serving.setArguments(Map.of());
        }
        if (!(translator instanceof Translator<?, ?> any) || !acceptsInput(any)) {
            throw refusal(
                    made.getClass().getName()
                            + " is not an ai.djl.translate.Translator<ai.djl.modality.Input, ai.djl.modality.Output>",
                    null);
        }
        @SuppressWarnings("unchecked")
        Translator<Input, Output> checked = (Translator<Input, Output>) any;
        return checked;
    }

    /** A best effort: type arguments are erased at run time, but the parameter types of methods are not. */
    private static boolean acceptsInput(Translator<?, ?> translator) {
        return Arrays.stream(translator.getClass().getMethods())
                .filter(method -> method.getName().equals("processInput") && !method.isBridge())
                .map(Method::getParameterTypes)
                .anyMatch(types -> types.length == 2 && types[1].isAssignableFrom(Input.class));
    }

    private static OipException refusal(String message, @Nullable Throwable cause) {
        return new OipException(ErrorCode.FAILED_PRECONDITION, message, cause);
    }

    @Override
    public void close() {
        try {
            classes.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
