// What the words of the language share: the builder that is open, and positions.
#pragma once

#include <tilewright/language.h>

#include "lang/builder.h"

namespace tilewright::lang {

Loc to_loc(SourcePos pos);
// The builder of the program that is being built; throws where there is none.
Builder& builder(SourcePos pos = {.file = "", .line = 0});

}  // namespace tilewright::lang
