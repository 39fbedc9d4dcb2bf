import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import { builtInFileTypes } from '../../src/file-types/built-in.ts'
import { fileTypeDefaultsOf } from '../../src/file-types/defaults.ts'
import { fileTypeOrProblem, installedFileTypes } from '../../src/file-types/installed.ts'

const defaults = fileTypeDefaultsOf(loadConfig({ env: {} }))

const document = (file_type: string, more: object = {}) => ({
  file_type,
  parser: { type: 'json' },
  processor: { default_usaget: 'data' },
  realtime: { used_usagev_field: 'used' },
  ...more,
})

const named = (stored: unknown, name: string) =>
  installedFileTypes(stored, defaults).filter((each) => each.name === name)

describe('installed file types', () => {
  it('are the built-in ones, which can all be used, by the names of their files', () => {
    const installed = installedFileTypes([], defaults)
    expect(installed.map(({ name }) => name)).toEqual([...builtInFileTypes().keys()])
    for (const { name, origin, fileType, problem } of installed) {
      expect([name, origin, problem]).toEqual([fileType?.name, 'builtIn', null])
    }
  })

  it('are the stored ones too, in the order of all names', () => {
    const names = installedFileTypes([document('B'), document('A')], defaults)
    const expected = [...builtInFileTypes().keys(), 'A', 'B']
    expect(names.map(({ name }) => name)).toEqual(expected.sort())
  })

  it.each([...builtInFileTypes().keys()])(
    'have a stored %s in place of the built-in one',
    (name) => {
      const [found, ...others] = named([document(name)], name)
      expect(found).toMatchObject({ origin: 'stored', replaces: true, problem: null })
      expect(others).toEqual([])
      const broken = named([document(name, { parser: {} })], name)
      expect(broken).toMatchObject([{ origin: 'stored', fileType: null }])
    },
  )

  it('have the later one of two with a name', () => {
    const [first, second] = named([document('A'), document('A', { enabled: false })], 'A')
    const reason = 'is repeated: the later one is used'
    expect(first).toMatchObject({ fileType: null, problem: { path: 'file_types.A', reason } })
    expect(second).toMatchObject({ fileType: { isEnabled: false }, problem: null })
  })

  it('never have the plain dialect from the store', () => {
    expect(named([document('json')], 'json')).toMatchObject([
      { fileType: null, problem: { path: 'file_types.json.file_type' } },
    ])
  })

  it.each([[null], [{}], ['text'], [5]])('are no worse for %j in place of a list', (stored) => {
    const [found] = named(stored, '')
    expect(found?.problem).toEqual({ path: 'file_types', reason: 'must be a list' })
  })

  it.each([[null], [[]], ['text'], [{ file_type: 5 }], [{ file_type: 'a b' }]])(
    'say where %j is, which has no name of use',
    (stored) => {
      const { problem } = fileTypeOrProblem(stored, defaults)
      expect(problem?.path).toMatch(/^file_types\.0/)
      expect(installedFileTypes([document('A'), stored], defaults)).toContainEqual(
        expect.objectContaining({
          fileType: null,
          problem: expect.objectContaining({ path: expect.stringMatching(/^file_types\.1/) }),
        }),
      )
    },
  )
})
