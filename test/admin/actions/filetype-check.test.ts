import { describe, expect, it } from 'vitest'
import { filetypecheck } from '../../../src/admin/actions/filetype-check.ts'
import { checkFileType } from '../../../src/realtime/check.ts'
import { useActionServer } from '../../support/admin/actions/action-server.ts'

const api = useActionServer([filetypecheck], {}, { checkFileType })
const bare = useActionServer([filetypecheck])

const GY = {
  file_type: 'GY',
  parser: { type: 'json' },
  processor: {
    date_field: 'when',
    usaget_mapping: [{ usaget: 'data', volume_src: ['asked'] }],
  },
  customer_identification_fields: { '*': [{ src_key: 'line', target_key: 'msisdn' }] },
  realtime: {
    request_type_field: 'type',
    session_id_fields: ['sess'],
    used_usagev_field: ['used'],
    services_field: 'units',
  },
  response: { fields: [{ response_field_name: 'code', row_field_name: 'return_code' }] },
}
const START = { type: 1, sess: 's', line: '44', when: '2026-01-02 03:04:05', units: [{ asked: 5 }] }

interface Step {
  step: string
  ok: boolean
  result: unknown
}

async function check(params: Record<string, unknown>) {
  const answer = await api.ask('api/filetype/check', params, { as: 'json' })
  expect(answer).toMatchObject({ status: 1, input: {} })
  const { ok, steps } = answer['details'] as { ok: boolean; steps: Step[] }
  return { ok, steps, of: (step: string) => steps.find((each) => each.step === step) }
}

describe('filetypecheck', () => {
  it('shows the steps of a message, like the command', async () => {
    const { ok, steps, of } = await check({ document: GY, message: JSON.stringify(START) })
    expect([ok, steps.every((step) => step.ok)]).toEqual([true, true])
    expect(steps.map(({ step }) => step)).toEqual([
      'document',
      'message',
      'request type',
      'session',
      'request number',
      'event time',
      'services.0',
      'subscriber',
      'rating',
      'request',
      'answer if granted',
      'answer if denied',
    ])
    expect(of('answer if granted')?.result).toBe('{"code":1}')
  })

  it('marks the first wrong byte', async () => {
    const cut = await check({ document: GY, message: '{"type":' })
    expect([cut.ok, cut.of('message')?.result]).toEqual([
      false,
      { field: 'body', why: 'is not JSON', offset: 8 },
    ])
    const message = JSON.stringify({ ...START, when: 'soon' })
    const late = await check({ document: GY, message })
    const offset = message.indexOf('"soon"')
    expect(late.of('request')?.result).toMatchObject({ field: 'when', offset })
    const { when: _, ...timeless } = START
    const none = await check({ document: GY, message: JSON.stringify({ ...timeless, type: 9 }) })
    expect(none.ok).toBe(false)
  })

  it('reads bytes that are not UTF-8 from base 64', async () => {
    const bytes = Buffer.from([0x7b, 0xff])
    const { of } = await check({ document: GY, message_base64: bytes.toString('base64') })
    expect(of('message')?.result).toMatchObject({ why: 'is not UTF-8', offset: 1 })
  })

  it('uses an installed file type, built in or stored', async () => {
    const stored = { rev: 1, value: [GY], changed: new Date(0), changed_by: 'test' }
    await api.catalog().config.replaceOne({ _id: 'file_types' }, stored as never, { upsert: true })
    expect((await check({ file_type: 'GY', message: JSON.stringify(START) })).ok).toBe(true)
    const none = await api.ask('filetypecheck', { file_type: 'XX', message: 'x' })
    expect(none).toMatchObject({
      status: 0,
      message: 'Field file_type names no installed file type: XX',
    })
  })

  it('says what is wrong with a document', async () => {
    const { ok, steps } = await check({ document: { ...GY, parser: { type: 'x' } }, message: '{}' })
    expect([ok, steps]).toMatchObject([
      false,
      [{ step: 'document', ok: false, result: { path: 'file_types.GY.parser.type' } }],
    ])
  })

  it.each([
    [{ message: 'x' }, 'Following field/s are missing: file_type or document'],
    [{ document: GY }, 'Following field/s are missing: message or message_base64'],
    [
      { document: GY, file_type: 'GY', message: 'x' },
      'Field file_type cannot be combined with document',
    ],
    [{ document: GY, message_base64: '*' }, 'Field message_base64 must be base 64'],
    [{ document: GY, message: 'é'.repeat(40_000) }, 'Field message has more than 65536 bytes'],
    [{ document: GY, message: 'x'.repeat(70_000) }, 'Field message has more than 65536 characters'],
    [{ document: [1], message: 'x' }, 'Field document should be of type Object'],
    [
      { document: { ...GY, x: 'x'.repeat(70_000) }, message: 'x' },
      'Field document has more than 65536 characters',
    ],
  ])('refuses %#', async (params, message) => {
    const answer = await api.ask('filetypecheck', params, { as: 'json' })
    expect(answer).toMatchObject({ status: 0, message })
  })

  it('is unavailable on a server without formats', async () => {
    expect(await bare.ask('filetypecheck', { document: GY, message: 'x' })).toMatchObject({
      http: 503,
      status: 0,
    })
  })
})
