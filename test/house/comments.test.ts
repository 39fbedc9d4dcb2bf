import { describe, expect, it } from 'vitest'
import { commentsOf, isArchaic, namesOutside } from './comments.ts'
import { HOUSE, readTree } from './tree.ts'

const comments = readTree(HOUSE, ['src', 'test', 'bench', 'packages'])
  .filter(({ path }) => /\.tsx?$/.test(path) || path.endsWith('.lua'))
  .flatMap(commentsOf)
const shown = ({ path, line, text }: (typeof comments)[number]) => `${path}:${line} ${text}`

describe('comments of src, test, bench and packages', () => {
  it('are found', () => {
    expect(comments.length).toBeGreaterThan(5000)
  })

  it('are sentences or noun phrases in plain English', () => {
    expect(comments.filter(({ text }) => isArchaic(text)).map(shown)).toEqual([])
  })

  it('name no documents outside the repository', () => {
    expect(comments.filter(({ text }) => namesOutside(text)).map(shown)).toEqual([])
  })
})

it.each([
  'What nobody waits for any more.',
  'Of messages that are under way.',
  'Whoever comes first is told so.',
  'Null: there is no default.',
  'The session is opened anew.',
])('refuses %s', (text) => {
  expect(isArchaic(text)).toBe(true)
})

it.each(['What does a relay do?', 'Null if there is none.', 'Offers of a plan.'])(
  'accepts %s',
  (text) => {
    expect(isArchaic(text)).toBe(false)
  },
)

it('reads consecutive line comments as one, in TypeScript and in Lua', () => {
  const typescript = commentsOf({
    path: 'src/a.ts',
    text: '// One\n// two.\nconst a = 1\nconst b = 2 // Three.\n',
  })
  expect(typescript.map(({ line, text }) => [line, text])).toEqual([
    [1, 'One two.'],
    [4, 'Three.'],
  ])
  const lua = commentsOf({ path: 'src/a.lua', text: '-- One\n-- two.\nlocal a = 1\n' })
  expect(lua.map(({ text }) => text)).toEqual(['One two.'])
})
