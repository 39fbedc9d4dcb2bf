import ts from 'typescript'
import { parse, type SourceFile } from './tree.ts'

export interface Comment {
  readonly path: string
  readonly line: number
  /** Without comment marks, in one line. */
  readonly text: string
}

/** Comments of a TypeScript or Lua file; consecutive line comments are one. */
export function commentsOf(file: SourceFile): readonly Comment[] {
  if (file.path.endsWith('.lua')) return luaComments(file)
  const source = parse(file)
  const ranges = new Map<number, ts.CommentRange>()
  const step = (node: ts.Node): void => {
    const leading = ts.getLeadingCommentRanges(file.text, node.getFullStart()) ?? []
    const trailing = ts.getTrailingCommentRanges(file.text, node.end) ?? []
    for (const range of [...leading, ...trailing]) ranges.set(range.pos, range)
    for (const child of node.getChildren(source)) if (!ts.isJSDoc(child)) step(child)
  }
  step(source)
  const found: (Comment & { end: number; isLine: boolean })[] = []
  for (const { pos, end, kind } of [...ranges.values()].sort((a, b) => a.pos - b.pos)) {
    const line = source.getLineAndCharacterOfPosition(pos).line + 1
    const text = plainText(file.text.slice(pos, end))
    const isLine = kind === ts.SyntaxKind.SingleLineCommentTrivia
    const last = found.at(-1)
    if (isLine && last?.isLine && last.end + 1 === line) {
      found[found.length - 1] = { ...last, text: `${last.text} ${text}`, end: line }
    } else {
      found.push({ path: file.path, line, text, end: line, isLine })
    }
  }
  return found
}

function plainText(comment: string): string {
  return comment
    .replace(/^\/\*\*?|\*\/$/g, '')
    .replace(/^\s*(?:\*|\/\/) ?/gm, '')
    .replace(/\s+/g, ' ')
    .trim()
}

function luaComments({ path, text }: SourceFile): readonly Comment[] {
  const found: (Comment & { end: number })[] = []
  for (const [index, content] of text.split('\n').entries()) {
    const [, comment] = /^\s*--+ ?(.*)$/.exec(content) ?? []
    if (comment === undefined) continue
    const last = found.at(-1)
    if (last?.end === index) {
      found[found.length - 1] = { ...last, text: `${last.text} ${comment}`, end: index + 1 }
    } else {
      found.push({ path, line: index + 1, text: comment, end: index + 1 })
    }
  }
  return found
}

/** Clauses without a subject, or values in front of their condition ("Null: there is none."). */
const BEGINNING =
  /^(?:(?:What|Of|Who|Whoever|Whatever)\b(?![^.?!]*\?)|(?:Null|Undefined|Empty|True|False):)/
const PHRASES = /\b(?:anew|whoever|(?:is|are) (?:none|told)|nobody waits|holds nobody)\b/i
/** "Null if there is none" is plain English. */
const PLAIN = /\bthere (?:is|are) none\b/gi

export function isArchaic(text: string): boolean {
  return BEGINNING.test(text) || PHRASES.test(text.replace(PLAIN, ''))
}

/** Documents that readers of the repository do not have. */
export function namesOutside(text: string): boolean {
  return /\bspec\/[\w-]+\.md|\b(?:interface|design|house-review)\.md\b/.test(text)
}
