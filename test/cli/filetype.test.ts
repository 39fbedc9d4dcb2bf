import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { readStoredConfig } from '../../src/catalog/settings/stored-config.ts'
import { useTollgate } from '../support/cli/tollgate.ts'

const tollgate = useTollgate()

const document = (file_type: string, more: object = {}) => ({
  file_type,
  parser: { type: 'json' },
  processor: {
    date_field: 'when',
    usaget_mapping: [
      { usaget: 'data', unit: 'kb1024', volume_type: 'field', volume_src: ['asked'] },
    ],
  },
  realtime: {
    request_type_field: 'type',
    session_id_fields: ['sess'],
    used_usagev_field: ['used'],
  },
  ...more,
})

const broken = (file_type: string) => document(file_type, { parser: { type: 'tap3' } })

async function stored() {
  return (await readStoredConfig(tollgate.catalog())).file_types
}

function storeDirectly(value: unknown) {
  const more = { rev: 1, changed: new Date(0), changed_by: 'hand' }
  return tollgate.catalog().config.insertOne({ _id: 'file_types', value, ...more })
}

const YAML = `
file_type: GY
parser: {type: json}
processor:
  usaget_mapping:
    - {usaget: data, volume_src: [asked]}
realtime: {used_usagev_field: used}
`

describe('tollgate filetype set', () => {
  it('accepts a JSON document, and reports what it has changed', async () => {
    const file = tollgate.file('gy.json', JSON.stringify(document('GY')))
    const first = await tollgate.run('filetype', 'set', file)
    expect([first.code, first.stdout, first.stderr]).toEqual([0, 'created GY\n', ''])
    const second = await tollgate.run('filetype', 'set', file)
    expect([second.code, second.stdout]).toEqual([0, 'replaced GY\n'])
    expect(await stored()).toEqual([document('GY')])
    const { changed_by: by } = (await tollgate.catalog().config.findOne({})) ?? {}
    expect(by).toBe('cli')
  })

  it('accepts YAML, and standard input', async () => {
    const { code, stdout } = await tollgate.pipe(YAML, 'filetype', 'set', '-')
    expect([code, stdout]).toEqual([0, 'created GY\n'])
    expect(await stored()).toEqual([parse(YAML)])
  })

  it('accepts several documents, and keeps the others as they are', async () => {
    const other = { anything: true }
    await storeDirectly([other, document('A')])
    const list = [document('B'), document('A', { enabled: false })]
    const both = tollgate.file('list.json', JSON.stringify({ file_types: list }))
    const { code, stdout } = await tollgate.run('filetype', 'set', both)
    expect([code, stdout]).toEqual([0, 'created B\nreplaced A\n'])
    expect(await stored()).toEqual([other, list[1], list[0]])
  })

  it('reports when it replaces a built-in file type', async () => {
    const { stdout } = await tollgate.pipe(JSON.stringify(document('xml')), 'filetype', 'set', '-')
    expect(stdout).toBe('created xml, replacing the built-in one\n')
  })

  it.each([
    ['', '- is empty'],
    ['[]', '- has no documents'],
    ['{"a": [}', '-: line 1 is neither JSON nor YAML'],
    ['a: 1\na: 2', '-: line 2 is neither JSON nor YAML'],
    ['text', '-: file_types.0 must be an object'],
    [JSON.stringify(broken('GY')), '-: file_types.GY.parser.type must be one of'],
    [JSON.stringify(document('json')), "-: file_types.json.file_type 'json' is built in"],
    [JSON.stringify([document('A'), broken('B')]), '-: file_types.B.parser.type must be'],
    [JSON.stringify([document('A'), document('A')]), "-: file_types.A.file_type 'A' occurs twice"],
    [JSON.stringify([document('A'), 5]), '-: file_types.1 must be an object'],
  ])('refuses %j with the path, and stores nothing', async (input, message) => {
    const { code, stdout, stderr } = await tollgate.pipe(input, 'filetype', 'set', '-')
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain(`tollgate: ${message}`)
    expect(await stored()).toEqual([])
  })

  it('names a file that does not exist', async () => {
    const { code, stderr } = await tollgate.run('filetype', 'set', '/nowhere/gy.yaml')
    expect([code, stderr]).toEqual([1, expect.stringContaining('cannot read /nowhere/gy.yaml')])
  })
})

describe('tollgate filetype list', () => {
  it('shows every file type, its source, and whether it can be used', async () => {
    const list = [document('GY'), document('OFF', { enabled: false }), broken('BAD')]
    await storeDirectly([...list, document('xml'), 5])
    const table = await tollgate.run('filetype', 'list')
    expect(table.stdout).toMatch(/json +built-in +json +enabled\n/)
    expect(table.stdout).toMatch(/GY +stored +json +enabled\n/)
    expect(table.stdout).toMatch(/OFF +stored +json +disabled\n/)
    expect(table.stdout).toMatch(/BAD +stored +unusable: file_types\.BAD\.parser\.type must be/)
    expect(table.stdout).toMatch(/xml +stored, in place of the built-in one +json +enabled\n/)
    const json = JSON.parse((await tollgate.run('filetype', 'list', '--json')).stdout)
    const bad = { name: 'BAD', state: 'unusable', path: 'file_types.BAD.parser.type' }
    const nameless = { name: '', state: 'unusable', path: 'file_types.4' }
    const xml = { name: 'xml', origin: 'stored, in place of the built-in one' }
    for (const row of [bad, nameless, xml, { name: 'GY', origin: 'stored', parser: 'json' }]) {
      expect(json).toContainEqual(expect.objectContaining(row))
    }
    expect(json.filter(({ name }: { name: string }) => name === 'xml')).toHaveLength(1)
  })

  it('shows which document is in effect where two are stored', async () => {
    await storeDirectly([document('GY'), document('GY', { enabled: false })])
    const json = JSON.parse((await tollgate.run('filetype', 'list', '--json')).stdout)
    const states = json.filter(({ name }: { name: string }) => name === 'GY')
    expect(states.map(({ state }: { state: string }) => state)).toEqual(['unusable', 'disabled'])
  })
})

describe('tollgate filetype show', () => {
  it('prints the document as it is stored, so that it can be set again', async () => {
    await storeDirectly([document('GY')])
    const yaml = await tollgate.run('filetype', 'show', 'GY')
    expect([yaml.code, parse(yaml.stdout)]).toEqual([0, document('GY')])
    const json = await tollgate.run('filetype', 'show', 'GY', '--json')
    expect(JSON.parse(json.stdout)).toEqual(document('GY'))
  })

  it('prints built-in documents', async () => {
    const { code, stdout } = await tollgate.run('filetype', 'show', 'xml')
    expect([code, parse(stdout)]).toMatchObject([0, { file_type: 'xml' }])
  })

  it.each([
    ['NONE', 'there is no file type NONE'],
    ['json', 'json is the plain format of docs/WIRE.md and has no document'],
  ])('reports that there is no document of %s', async (name, message) => {
    const { code, stderr } = await tollgate.run('filetype', 'show', name)
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)])
  })
})

describe('tollgate filetype remove', () => {
  it('removes stored documents, also those that cannot be used', async () => {
    await storeDirectly([broken('BAD'), document('GY'), document('xml')])
    expect((await tollgate.run('filetype', 'remove', 'BAD')).stdout).toBe('removed BAD\n')
    expect(await stored()).toEqual([document('GY'), document('xml')])
    const { stdout } = await tollgate.run('filetype', 'remove', 'xml')
    expect(stdout).toBe('removed xml: the built-in one applies again\n')
    expect(await stored()).toEqual([document('GY')])
  })

  it.each([
    ['NONE', 'there is no file type NONE'],
    ['json', 'json is built in and cannot be removed'],
    ['xml', 'xml is built in and cannot be removed'],
  ])('keeps %s', async (name, message) => {
    const { code, stderr } = await tollgate.run('filetype', 'remove', name)
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)])
  })
})
