//! Lexical rules of languages, as far as syntax colours need them.

use crate::style::Style;

/// Rules that languages share.
#[derive(Debug)]
pub(super) struct Language {
    /// Names in Markdown and file extensions, separated by spaces.
    pub(super) names: &'static str,
    /// Keywords, separated by spaces.
    pub(super) keywords: &'static str,
    /// Whether the case of keywords is irrelevant.
    pub(super) folds_case: bool,
    /// Marks of comments that end with the line.
    pub(super) line_comments: &'static [&'static str],
    /// Start and end of comments of several lines.
    pub(super) block_comments: &'static [(&'static str, &'static str)],
    /// Quotation marks of strings of several lines.
    pub(super) block_strings: &'static [&'static str],
    /// Quotation marks of strings within a line, in ASCII.
    pub(super) quotes: &'static [char],
    /// Whether `'` encloses a single character.
    pub(super) has_characters: bool,
    /// Starts of lines and the styles of these lines, if lines have only one style.
    pub(super) line_styles: &'static [(&'static str, Style)],
}

const NOTHING: Language = Language {
    names: "",
    keywords: "",
    folds_case: false,
    line_comments: &[],
    block_comments: &[],
    block_strings: &[],
    quotes: &['"', '\''],
    has_characters: false,
    line_styles: &[],
};

const C_LIKE: Language = Language {
    line_comments: &["//"],
    block_comments: &[("/*", "*/")],
    quotes: &['"'],
    has_characters: true,
    ..NOTHING
};

const HASH: Language = Language {
    line_comments: &["#"],
    ..NOTHING
};

/// The known languages.
pub(super) static LANGUAGES: &[Language] = &[
    Language {
        names: "diff patch",
        line_styles: &[
            ("+++ ", Style::Bold),
            ("--- ", Style::Bold),
            ("diff ", Style::Bold),
            ("@@", Style::Literal),
            ("+", Style::Good),
            ("-", Style::Bad),
        ],
        ..NOTHING
    },
    Language {
        names: "rust rs",
        keywords: "as async await break const continue crate dyn else enum extern false fn for if \
            impl in let loop match mod move mut pub ref return self Self static struct super trait \
            true type unsafe use where while",
        ..C_LIKE
    },
    Language {
        names: "c h cpp c++ cc cxx hpp hh cuda cu",
        keywords: "auto bool break case catch char class const constexpr continue default delete \
            do double else enum explicit extern false final float for friend goto if inline int \
            long namespace new noexcept nullptr operator override private protected public return \
            short signed sizeof static struct switch template this throw true try typedef typename \
            union unsigned using virtual void volatile while NULL",
        ..C_LIKE
    },
    Language {
        names: "java kotlin kt kts scala csharp cs c# swift dart groovy",
        keywords: "abstract as async await boolean break case catch class const continue data def \
            default do else enum extends extension final finally for foreach fun func guard if \
            implements import in init int interface internal is lateinit let long namespace new \
            nil null object open operator override package private protected protocol public \
            readonly return sealed self static struct super suspend switch this throw throws trait \
            true false try using val var void when where while yield",
        block_strings: &["\"\"\""],
        ..C_LIKE
    },
    Language {
        names: "go golang",
        keywords: "break case chan const continue default defer else fallthrough false for func go \
            goto if import interface map nil package range return select struct switch true type \
            var",
        block_strings: &["`"],
        ..C_LIKE
    },
    Language {
        names: "javascript js mjs cjs jsx typescript ts mts cts tsx vue svelte",
        keywords: "abstract any as async await boolean break case catch class const continue \
            debugger declare default delete do else enum export extends false finally for from \
            function get if implements import in instanceof interface keyof let new null number of \
            private protected public readonly return set static string super switch this throw \
            true try type typeof undefined var void while yield",
        block_strings: &["`"],
        quotes: &['"', '\''],
        has_characters: false,
        ..C_LIKE
    },
    Language {
        names: "php",
        keywords: "abstract array as break case catch class clone const continue default do echo \
            else elseif extends false final finally fn for foreach function global if implements \
            instanceof interface match namespace new null private protected public readonly \
            require require_once return self static switch this throw trait true try use while \
            yield",
        line_comments: &["//", "#"],
        quotes: &['"', '\''],
        has_characters: false,
        ..C_LIKE
    },
    Language {
        names: "python py python3 pyi",
        keywords: "and as assert async await break case class continue def del elif else except \
            False finally for from global if import in is lambda match None nonlocal not or pass \
            raise return self True try while with yield",
        block_strings: &["\"\"\"", "'''"],
        ..HASH
    },
    Language {
        names: "ruby rb elixir ex exs julia jl",
        keywords: "alias and begin break case class def defmodule defp do else elsif end ensure \
            false fn for function if import in include module next nil not or raise require \
            require_relative rescue return self struct super then true unless until using when \
            while with yield",
        ..HASH
    },
    Language {
        names: "shell sh bash zsh console fish",
        keywords: "break case continue declare do done elif else esac eval exec exit export fi for \
            function if in local readonly return select set shift source then trap unset until \
            while",
        ..HASH
    },
    Language {
        names: "yaml yml toml ini cfg conf json jsonc json5 jsonl hcl tf nix properties",
        keywords: "true false null on off yes no",
        line_comments: &["#", "// "],
        ..NOTHING
    },
    Language {
        names: "makefile make mk dockerfile docker cmake r perl pl pm",
        keywords: "ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM RUN USER VOLUME WORKDIR define else \
            elsif endef endif endfunction for foreach function if ifdef ifeq ifndef ifneq in \
            include my next our return sub unless use while",
        ..HASH
    },
    Language {
        names: "sql psql mysql sqlite postgresql",
        keywords: "add all alter and as asc begin between by cascade case check column commit \
            constraint create cross default delete desc distinct drop else end exists foreign from \
            full group having if in index inner insert into is join key left like limit not null \
            offset on or order outer primary references returning right rollback select set table \
            then transaction union unique update using values view when where with",
        folds_case: true,
        line_comments: &["--"],
        block_comments: &[("/*", "*/")],
        ..NOTHING
    },
    Language {
        names: "lua",
        keywords: "and break do else elseif end false for function goto if in local nil not or \
            repeat return then true until while",
        line_comments: &["--"],
        block_comments: &[("--[[", "]]")],
        ..NOTHING
    },
    Language {
        names: "haskell hs elm",
        keywords: "case class data deriving do else forall if import in infix infixl infixr \
            instance let module newtype of qualified then type where",
        line_comments: &["--"],
        block_comments: &[("{-", "-}")],
        quotes: &['"'],
        has_characters: true,
        ..NOTHING
    },
    Language {
        names: "css scss less",
        block_comments: &[("/*", "*/")],
        ..NOTHING
    },
    Language {
        names: "html htm xml svg",
        block_comments: &[("<!--", "-->")],
        quotes: &['"'],
        ..NOTHING
    },
];
