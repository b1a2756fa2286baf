/* preflow._kernels: kernels that were compiled when the wheel was built.
 *
 * preflow._kernels.Entry is a callable. A call
 *   1. writes the kind of its arguments as a short text, e.g. "1CI" for a contiguous array of uint32 with one
 *      dimension, and flattens the arguments into 64-bit words (pack),
 *   2. looks the kind up among the functions of its kernel,
 *   3. calls the function for the level of this CPU without the GIL,
 *   4. makes Python objects of its results (unpack).
 * Where the library has no function for the kind, the call goes to the method "compiled", which asks Numba.
 *
 * The file uses the stable ABI of Python 3.11 and the ABI of NumPy 2, so that one library serves all versions.
 * A free-threaded Python has another ABI, so each version of it needs a library of its own: there build.py does
 * not define Py_LIMITED_API. build.py writes entries.h.
 *
 * Threads may make their first calls at the same time. They share the dictionary class_names and those of the
 * entries, which lock themselves, and level, which is the same whoever finds it.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

typedef int32_t (*function)(const int64_t *in, int64_t *out);
typedef struct {
    const char *kernel, *kind, *result;
    function functions[PREFLOW_LEVELS]; /* one for each level of CPUs, the lowest first */
} entry;
typedef struct {
    const char *name, *hash; /* a kernel's fingerprint; "python": the version that it holds for */
} source;

#include "entries.h" /* entries[] and num_entries, sorted by kernel; sources[] and num_sources */

static int level; /* the highest level that this CPU has */

#define MOST_WORDS 512
#define MOST_KIND 2048
#define MOST_RESULTS 32 /* build.py checks it */

typedef struct {
    size_t num_words, length;
    int64_t words[MOST_WORDS];
    char kind[MOST_KIND];
} packed;

static PyObject *class_names; /* type -> bytes */

/* Return a new reference to what a dictionary has for a key, NULL if it has nothing or on an error. */
static PyObject *find(PyObject *dictionary, PyObject *key) {
#ifdef Py_GIL_DISABLED
    PyObject *found; /* another thread may replace a borrowed one */
    return PyDict_GetItemRef(dictionary, key, &found) > 0 ? found : NULL;
#else
    return Py_XNewRef(PyDict_GetItemWithError(dictionary, key));
#endif
}

static char letter_of(int type) {
    switch (type) {
    case NPY_BOOL: return '?';
    case NPY_INT8: return 'b';
    case NPY_UINT8: return 'B';
    case NPY_INT16: return 'h';
    case NPY_UINT16: return 'H';
    case NPY_FLOAT32: return 'f';
    case NPY_FLOAT64: return 'd';
    case NPY_INT: return 'i';
    case NPY_UINT: return 'I';
    case NPY_LONG: return sizeof(long) == 8 ? 'q' : 'i';
    case NPY_ULONG: return sizeof(long) == 8 ? 'Q' : 'I';
    case NPY_LONGLONG: return 'q';
    case NPY_ULONGLONG: return 'Q';
    default: return 0;
    }
}

/* Return the name of a class of tuples, as bytes. */
static PyObject *name_of(PyObject *type) {
    PyObject *name = find(class_names, type);
    if (name != NULL || PyErr_Occurred()) return name;
    PyObject *module = PyObject_GetAttrString(type, "__module__");
    PyObject *qualname = module ? PyObject_GetAttrString(type, "__qualname__") : NULL;
    PyObject *text = qualname ? PyUnicode_FromFormat("%U.%U", module, qualname) : NULL;
    name = text ? PyUnicode_AsUTF8String(text) : NULL;
    Py_XDECREF(module);
    Py_XDECREF(qualname);
    Py_XDECREF(text);
    if (name != NULL && PyDict_SetItem(class_names, type, name)) Py_CLEAR(name);
    return name;
}

/* Add an argument to a call. Return 1 if no kernel takes a value like this, -1 on an error. */
static int pack(packed *to, PyObject *value) {
    if (to->length + 8 > MOST_KIND || to->num_words + 2 * NPY_MAXDIMS + 1 > MOST_WORDS) return 1;
    PyTypeObject *type = Py_TYPE(value);
    if (PyArray_Check(value)) {
        PyArrayObject *array = (PyArrayObject *)value;
        int flags = PyArray_FLAGS(array), n = PyArray_NDIM(array);
        PyArray_Descr *descr = PyArray_DESCR(array);
        char letter = letter_of(descr->type_num);
        if (!letter || n > 9 || !(flags & NPY_ARRAY_ALIGNED) || descr->byteorder == '>') return 1;
        char layout = flags & NPY_ARRAY_C_CONTIGUOUS ? 'C' : flags & NPY_ARRAY_F_CONTIGUOUS ? 'F' : 'A';
        if (!(flags & NPY_ARRAY_WRITEABLE)) layout += 'a' - 'A';
        to->kind[to->length++] = '0' + n;
        to->kind[to->length++] = layout;
        to->kind[to->length++] = letter;
        to->words[to->num_words++] = (int64_t)(intptr_t)PyArray_DATA(array);
        for (int i = 0; i < n; i++) to->words[to->num_words++] = PyArray_DIMS(array)[i];
        for (int i = 0; i < n; i++) to->words[to->num_words++] = PyArray_STRIDES(array)[i];
        return 0;
    }
    int64_t word = 0;
    char letter;
    if (PyBool_Check(value)) {
        letter = '?';
        word = value == Py_True;
    } else if (value == Py_None) {
        letter = 'n';
    } else if (PyLong_CheckExact(value)) {
        int overflow = 0;
        letter = 'q';
        word = PyLong_AsLongLongAndOverflow(value, &overflow);
        if (overflow < 0) return 1;
        if (overflow > 0) {
            letter = 'Q';
            word = (int64_t)PyLong_AsUnsignedLongLong(value);
            if (PyErr_Occurred()) { PyErr_Clear(); return 1; }
        }
    } else if (PyFloat_Check(value)) { /* np.float64 is one */
        double number = PyFloat_AsDouble(value);
        letter = 'd';
        memcpy(&word, &number, 8);
    } else if (PyTuple_Check(value)) {
        if (type != &PyTuple_Type) {
            PyObject *name = name_of((PyObject *)type);
            if (name == NULL) return -1;
            Py_ssize_t size = PyBytes_Size(name);
            int fits = to->length + size + 8 <= MOST_KIND;
            if (fits) {
                to->kind[to->length++] = '<';
                memcpy(to->kind + to->length, PyBytes_AsString(name), size);
                to->length += size;
                to->kind[to->length++] = '>';
            }
            Py_DECREF(name);
            if (!fits) return 1;
        }
        to->kind[to->length++] = '(';
        Py_ssize_t size = PyTuple_Size(value);
        for (Py_ssize_t i = 0; i < size; i++) {
            int outcome = pack(to, PyTuple_GetItem(value, i));
            if (outcome) return outcome;
        }
        if (to->length + 1 > MOST_KIND) return 1;
        to->kind[to->length++] = ')';
        return 0;
    } else if (PyArray_CheckScalar(value)) {
        PyArray_Descr *descr = PyArray_DescrFromScalar(value);
        if (descr == NULL) return -1;
        letter = letter_of(descr->type_num);
        Py_DECREF(descr);
        union { int64_t q; int32_t i; uint32_t ui; int16_t h; uint16_t uh; int8_t b; uint8_t ub; float f; } number;
        if (!letter) return 1;
        PyArray_ScalarAsCtype(value, &number);
        double wide;
        switch (letter) {
        case 'f': /* machine code narrows it again */
            wide = number.f;
            memcpy(&word, &wide, 8);
            break;
        case 'i': word = number.i; break;
        case 'I': word = number.ui; break;
        case 'h': word = number.h; break;
        case 'H': word = number.uh; break;
        case 'b': word = number.b; break;
        case 'B': case '?': word = number.ub; break;
        default: word = number.q;
        }
    } else return 1;
    to->kind[to->length++] = letter;
    to->words[to->num_words++] = word;
    return 0;
}

/* Return the Python object of one result; move both pointers past it. */
static PyObject *unpack(const char **kind, const int64_t **words) {
    switch (*(*kind)++) {
    case 'n': return Py_NewRef(Py_None);
    case '?': return PyBool_FromLong(*(*words)++ & 1);
    case 'q': return PyLong_FromLongLong(*(*words)++);
    case 'Q': return PyLong_FromUnsignedLongLong((uint64_t)*(*words)++);
    case 'd': {
        double number;
        memcpy(&number, (*words)++, 8);
        return PyFloat_FromDouble(number);
    }
    case '(': {
        PyObject *parts[MOST_RESULTS];
        int n = 0;
        while (**kind != ')') {
            parts[n] = unpack(kind, words);
            if (parts[n++] == NULL) return NULL;
        }
        (*kind)++;
        PyObject *tuple = PyTuple_New(n);
        for (int i = 0; tuple && i < n; i++) PyTuple_SetItem(tuple, i, parts[i]);
        return tuple;
    }
    }
    PyErr_SetString(PyExc_SystemError, "a kernel returned a value of an unknown kind");
    return NULL;
}

typedef struct {
    PyObject_HEAD
    PyObject *functions; /* kind as bytes -> index into entries[] */
    PyObject *attributes;
    PyObject *weak;
} entry_object;

static PyObject *entry_call(PyObject *self, PyObject *arguments, PyObject *named) {
    packed call;
    call.num_words = call.length = 0;
    PyObject *known = ((entry_object *)self)->functions;
    if ((named == NULL || PyDict_Size(named) == 0) && PyDict_Size(known) > 0) {
        Py_ssize_t size = PyTuple_Size(arguments);
        int outcome = 0;
        for (Py_ssize_t i = 0; i < size && !outcome; i++) outcome = pack(&call, PyTuple_GetItem(arguments, i));
        if (outcome < 0) return NULL;
        if (!outcome) {
            PyObject *key = PyBytes_FromStringAndSize(call.kind, call.length);
            if (key == NULL) return NULL;
            PyObject *index = find(known, key);
            Py_DECREF(key);
            if (index != NULL) {
                const entry *found = &entries[PyLong_AsSsize_t(index)];
                Py_DECREF(index);
                int64_t results[MOST_RESULTS];
                int32_t status;
                PyThreadState *state = PyEval_SaveThread();
                status = found->functions[level](call.words, results);
                PyEval_RestoreThread(state);
                if (status != 0) {
                    PyErr_Format(PyExc_RuntimeError, "kernel %s failed", found->kernel);
                    return NULL;
                }
                const char *kind = found->result;
                const int64_t *words = results;
                return unpack(&kind, &words);
            }
            if (PyErr_Occurred()) return NULL;
        }
    }
    PyObject *compiled = PyObject_GetAttrString(self, "compiled");
    if (compiled == NULL) return NULL;
    PyObject *outcome = PyObject_Call(compiled, arguments, named);
    Py_DECREF(compiled);
    return outcome;
}

static int entry_init(PyObject *self, PyObject *arguments, PyObject *named) {
    PyObject *known;
    if (!PyArg_ParseTuple(arguments, "O!", &PyDict_Type, &known)) return -1;
    Py_CLEAR(((entry_object *)self)->functions);
    ((entry_object *)self)->functions = Py_NewRef(known);
    return 0;
}

static int entry_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(((entry_object *)self)->functions);
    Py_VISIT(((entry_object *)self)->attributes);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static int entry_clear(PyObject *self) {
    Py_CLEAR(((entry_object *)self)->functions);
    Py_CLEAR(((entry_object *)self)->attributes);
    return 0;
}

static void entry_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (((entry_object *)self)->weak) PyObject_ClearWeakRefs(self);
    entry_clear(self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyMemberDef entry_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(entry_object, attributes), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(entry_object, weak), READONLY, NULL},
    {"functions", T_OBJECT, offsetof(entry_object, functions), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};
static PyGetSetDef entry_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL}, {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot entry_slots[] = {
    {Py_tp_init, entry_init},         {Py_tp_call, entry_call},     {Py_tp_traverse, entry_traverse},
    {Py_tp_clear, entry_clear},       {Py_tp_dealloc, entry_dealloc}, {Py_tp_members, entry_members},
    {Py_tp_getset, entry_getset},     {0, NULL}};
static PyType_Spec entry_spec = {"preflow._kernels.Entry", sizeof(entry_object), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, entry_slots};

/* Return a dictionary from kinds to indices into the table, of one kernel. */
static PyObject *functions_of(PyObject *module, PyObject *name) {
    PyObject *text = PyUnicode_AsUTF8String(name);
    if (text == NULL) return NULL;
    const char *kernel = PyBytes_AsString(text);
    PyObject *found = PyDict_New();
    size_t low = 0, high = num_entries;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (strcmp(entries[middle].kernel, kernel) < 0) low = middle + 1;
        else high = middle;
    }
    for (; found && low < num_entries && strcmp(entries[low].kernel, kernel) == 0; low++) {
        PyObject *kind = PyBytes_FromString(entries[low].kind);
        PyObject *index = PyLong_FromSize_t(low);
        if (!kind || !index || PyDict_SetItem(found, kind, index)) Py_CLEAR(found);
        Py_XDECREF(kind);
        Py_XDECREF(index);
    }
    Py_DECREF(text);
    return found;
}

/* Return the hash of what a kernel was compiled from, None where it is unknown. */
static PyObject *hash_of(PyObject *module, PyObject *name) {
    PyObject *text = PyUnicode_AsUTF8String(name);
    if (text == NULL) return NULL;
    PyObject *found = NULL;
    for (size_t i = 0; i < num_sources && !found; i++)
        if (strcmp(sources[i].name, PyBytes_AsString(text)) == 0) found = PyUnicode_FromString(sources[i].hash);
    Py_DECREF(text);
    return found ? found : Py_NewRef(Py_None);
}

/* Return the kind of a tuple of arguments, None where no kernel takes them. */
static PyObject *kind_of(PyObject *module, PyObject *arguments) {
    packed call;
    call.num_words = call.length = 0;
    if (!PyTuple_Check(arguments)) {
        PyErr_SetString(PyExc_TypeError, "arguments is a tuple");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyTuple_Size(arguments); i++) {
        int outcome = pack(&call, PyTuple_GetItem(arguments, i));
        if (outcome < 0) return NULL;
        if (outcome > 0) return Py_NewRef(Py_None);
    }
    return PyUnicode_FromStringAndSize(call.kind, call.length);
}

static PyMethodDef methods[] = {
    {"functions", functions_of, METH_O, "Return the kinds that a kernel was compiled for."},
    {"hash", hash_of, METH_O, "Return the hash of what a kernel was compiled from."},
    {"kind", kind_of, METH_O, "Return the kind of a tuple of arguments."},
    {NULL, NULL, 0, NULL}};
/* Set the level of this CPU; return 0 if it has not even the lowest one. */
static int find_level(void) {
    int found = 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("popcnt")) return 0;
    int v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
             __builtin_cpu_supports("fma");
    if (PREFLOW_NEEDS_V3 && !v3) return 0; /* compiled in a source tree on another CPU */
    found = v3 ? PREFLOW_LEVELS - 1 : 0;
#endif
    const char *chosen = getenv("PREFLOW_CPU_LEVEL"); /* a lower one, for tests */
    level = chosen != NULL && atoi(chosen) >= 0 && atoi(chosen) < found ? atoi(chosen) : found;
    return 1;
}

static int execute(PyObject *module) {
    if (PyArray_ImportNumPyAPI() < 0) return -1;
    if (!find_level()) {
        PyErr_SetString(PyExc_ImportError, "this CPU lacks instructions that the kernels were compiled for");
        return -1;
    }
    PyObject *names = PyDict_New(), *none = NULL; /* only the first ones stay: a module may be executed again */
    if (names == NULL) return -1;
    if (!__atomic_compare_exchange_n(&class_names, &none, names, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        Py_DECREF(names);
    PyObject *type = PyType_FromSpec(&entry_spec);
    int failed = !type || PyModule_AddObjectRef(module, "Entry", type) ||
                 PyModule_AddIntConstant(module, "CHECK_SOURCES", PREFLOW_CHECK_SOURCES) ||
                 PyModule_AddIntConstant(module, "level", level);
    Py_XDECREF(type);
    return failed ? -1 : 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, execute},
#ifdef Py_mod_multiple_interpreters /* from 3.12 */
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#ifdef Py_mod_gil /* from 3.13 */
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "preflow._kernels", NULL, 0, methods,
                                        slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__kernels(void) { return PyModuleDef_Init(&definition); }
