// The program `dyadic`.
#include "cli/command.h"

int main(int argc, char** argv) { return dyadic::cli::run(argc, argv); }
