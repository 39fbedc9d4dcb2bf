/** The list of contents of a long document has all of its sections; links lead to sections. */
import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { expect, it } from 'vitest'
import { HOUSE, readTree, type SourceFile } from './tree.ts'

/** Documents with more sections have a list of contents. */
const SECTIONS_MAX = 6

/** Headings without those in code blocks, each with its level. */
function headings(text: string): { level: number; anchor: string }[] {
  const prose = text.replace(/^```.*?^```/gms, '')
  return [...prose.matchAll(/^(#+) (.*)$/gm)].map(([, marks = '', title = '']) => ({
    level: marks.length,
    anchor: anchorOf(title),
  }))
}

/** The anchor that GitHub makes of a title. */
function anchorOf(title: string): string {
  const words = title.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
  return words.replace(/[^\p{L}\p{N}_\- ]/gu, '').replaceAll(' ', '-')
}

function linksIn(text: string): string[] {
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target)
}

function unlisted({ text }: SourceFile): string[] {
  const sections = headings(text).filter(({ level }) => level === 2)
  if (sections.length <= SECTIONS_MAX) return []
  const [beginning = ''] = text.replace('\n## Contents\n', '\n').split('\n## ')
  const listed = linksIn(beginning)
  const named = sections.map(({ anchor }) => anchor).filter((anchor) => anchor !== 'contents')
  return named.filter((anchor) => !listed.includes(`#${anchor}`))
}

function deadLinks(document: SourceFile, documents: readonly SourceFile[]): string[] {
  return linksIn(document.text).filter((link) => {
    const [file = '', anchor] = link.split('#')
    if (anchor === undefined || file.includes(':')) return false
    const path = file === '' ? document.path : posix.join(posix.dirname(document.path), file)
    const target = documents.find((each) => each.path === path)
    return target !== undefined && !headings(target.text).some((each) => each.anchor === anchor)
  })
}

const documents = [
  ...['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md'].map((path) => ({
    path,
    text: readFileSync(join(HOUSE, path), 'utf8'),
  })),
  ...readTree(HOUSE, ['bench', 'docs', 'packages', 'src', 'test']).filter(({ path }) =>
    path.endsWith('.md'),
  ),
]

it.each(documents.filter(({ path }) => path.startsWith('docs/')))(
  '$path lists its sections',
  (document) => expect(unlisted(document)).toEqual([]),
)

it.each(documents)('$path links to sections that exist', (document) => {
  expect(deadLinks(document, documents)).toEqual([])
})

it('a missing section and a dead link are found', () => {
  const names = ['One', 'Two', 'Three', 'Four', 'Five', 'Six and `more`', 'Seven']
  const sections = names.map((name) => `## ${name}\n`).join('\n')
  const others = '[1](#one) [2](#two) [3](#three) [4](#four) [5](#five)'
  const text = `# A\n\n${others} [6](#six-and-more) [8](#eight) [9](b.md#nine)\n\n${sections}`
  const document = { path: 'docs/A.md', text }
  expect(unlisted(document)).toEqual(['seven'])
  const other = { path: 'docs/b.md', text: '```\n# nine\n```\n' }
  expect(deadLinks(document, [document, other])).toEqual(['#eight', 'b.md#nine'])
})
