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
  it('are the built-in ones by file name, all of them usable', () => {
    const installed = installedFileTypes([], defaults)
    expect(installed.map(({ name }) => name)).toEqual([...builtInFileTypes().keys()])
    for (const { name, origin, fileType, problem } of installed) {
      expect([name, origin, problem]).toEqual([fileType?.name, 'builtIn', null])
    }
  })

  it('include the stored ones, sorted by name', () => {
    const names = installedFileTypes([document('B'), document('A')], defaults)
    const expected = [...builtInFileTypes().keys(), 'A', 'B']
    expect(names.map(({ name }) => name)).toEqual(expected.sort())
  })

  it.each([...builtInFileTypes().keys()])(
    'contain a stored %s instead of the built-in one',
    (name) => {
      const [found, ...others] = named([document(name)], name)
      expect(found).toMatchObject({ origin: 'stored', replaces: true, problem: null })
      expect(others).toEqual([])
      const broken = named([document(name, { parser: {} })], name)
      expect(broken).toMatchObject([{ origin: 'stored', fileType: null }])
    },
  )

  it('contain the later of two with the same name', () => {
    const [first, second] = named([document('A'), document('A', { enabled: false })], 'A')
    const reason = 'is repeated: the later one is used'
    expect(first).toMatchObject({ fileType: null, problem: { path: 'file_types.A', reason } })
    expect(second).toMatchObject({ fileType: { isEnabled: false }, problem: null })
  })

  it('never take the plain JSON format from the store', () => {
    expect(named([document('json')], 'json')).toMatchObject([
      { fileType: null, problem: { path: 'file_types.json.file_type' } },
    ])
  })

  it.each([[null], [{}], ['text'], [5]])(
    'report %j in place of a list, and keep the built-in ones',
    (stored) => {
      const [found] = named(stored, '')
      expect(found?.problem).toEqual({ path: 'file_types', reason: 'must be a list' })
    },
  )

  it.each([[null], [[]], ['text'], [{ file_type: 5 }], [{ file_type: 'a b' }]])(
    'report the position of %j, which has no usable name',
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
