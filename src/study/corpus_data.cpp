// The built-in corpus: corpus.txt, embedded as it is. A frozen snapshot of this project's own sources and documents, made by
// tools/make_corpus.py; it is not remade when they change, so that a study means the same from one build to the next.
#include "study/corpus.h"

#ifndef DYADIC_CORPUS_FILE
#error "DYADIC_CORPUS_FILE must name corpus.txt (src/study/CMakeLists.txt sets it)"
#endif

__asm__(
    ".pushsection .rodata\n"
    ".balign 16\n"
    ".hidden dyadic_corpus_begin\n.globl dyadic_corpus_begin\n"
    ".hidden dyadic_corpus_end\n.globl dyadic_corpus_end\n"
    "dyadic_corpus_begin:\n"
    ".incbin \"" DYADIC_CORPUS_FILE
    "\"\n"
    "dyadic_corpus_end:\n"
    ".byte 0\n"
    ".popsection\n");

extern "C" {
extern const char dyadic_corpus_begin[];
extern const char dyadic_corpus_end[];
}

namespace dyadic::inline v1::study {

std::string_view Corpus::builtin_text() { return {dyadic_corpus_begin, size_t(dyadic_corpus_end - dyadic_corpus_begin)}; }

}  // namespace dyadic::inline v1::study
