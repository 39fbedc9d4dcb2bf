/** Documents and READMEs name existing files and folders only. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkDocPaths, withFolders } from './doc-paths.ts'
import { HOUSE, readTree, report, type SourceFile } from './tree.ts'

const FOLDERS = ['.ci', 'bench', 'bin', 'config', 'docs', 'packages', 'scripts', 'src', 'test']

/** Files that the planted names may name. */
const PATHS = withFolders([
  'docs/WIRE.md',
  'src/ledger/lua/commit.lua',
  'src/ledger/commit.ts',
  'src/ledger/README.md',
  'src/ledger/owner-packing.ts',
  'src/rating/match/finder.ts',
  'src/rating/price.ts',
  'src/rating/model/price.ts',
])

function problems(path: string, text: string): readonly string[] {
  return report(checkDocPaths([{ path, text }], PATHS))
}

describe('the project', () => {
  const files = readTree(HOUSE, FOLDERS)
  const top = readdirSync(HOUSE, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
  const paths = withFolders([...files.map(({ path }) => path), ...top])

  it('names existing files and folders in its documents', () => {
    const ofTop = ['README.md', 'CONTRIBUTING.md'].map((path) => ({
      path,
      text: readFileSync(join(HOUSE, path), 'utf8'),
    }))
    const documents: SourceFile[] = [
      ...ofTop,
      ...files.filter(({ path }) => /^docs\/[^/]+\.md$|\/README\.md$/.test(path)),
    ]
    expect(documents.length).toBeGreaterThan(50)
    expect(report(checkDocPaths(documents, paths))).toEqual([])
  })
})

describe('a name in a document', () => {
  it.each([
    ['docs/A.md', '`src/ledger/comit.ts`'],
    ['docs/A.md', '`src/leger/`'],
    ['docs/A.md', '`ledger/lua/commit`'],
    ['docs/A.md', '`absent.ts`'],
    ['docs/A.md', '`price.ts`'],
    ['docs/A.md', '`*-unpacking.ts`'],
    ['src/ledger/README.md', '`finder.ts`'],
    ['src/ledger/README.md', '`../rate/`'],
    ['src/ledger/README.md', 'docs/WIRES.md'],
  ])('is refused in %s: %s', (path, text) => {
    expect(problems(path, `# A\n\n${text}`)).toHaveLength(1)
  })

  it.each([
    ['docs/A.md', '`src/ledger/commit.ts`'],
    ['docs/A.md', '`ledger/commit`, `src/ledger/lua/`, `rating`'],
    ['docs/A.md', '`finder.ts`, `match/finder.ts`, `rating/price.ts`'],
    ['docs/A.md', '`src/rating/model/price.ts`, `price.ts`'],
    ['docs/A.md', '`application/json`, `/realtime/charge`, `POST /src/a.ts`'],
    ['docs/A.md', '```\nabsent.ts `absent.ts`\n```'],
    ['src/ledger/README.md', '`commit.lua`, `*-packing.ts`, `../rating`, docs/WIRE.md'],
    ['src/rating/match/README.md', '`finder.ts`, `../price.ts`'],
  ])('is accepted in %s: %s', (path, text) => {
    expect(problems(path, text)).toEqual([])
  })
})
