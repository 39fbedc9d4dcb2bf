import { describe, expect, it } from 'vitest'
import type { CheckReport } from '../../src/file-types/check-report.ts'
import { useTollgate } from '../support/cli/tollgate.ts'
import { CSV, recordDocument } from '../support/file-types/records.ts'

const tollgate = useTollgate()

/** A document with conditions, several units, rules of its own and hidden fields. */
const GY = {
  file_type: 'GY',
  parser: { type: 'json', structure: [{ name: 'debug', checked: false }] },
  processor: {
    date_field: 'when',
    usaget_mapping: [
      { usaget: 'sms', src_field: 'apn', pattern: '/^sms/', volume_type: 'value', volume_src: 1 },
      {
        usaget: 'data',
        conditions: [{ src_field: 'apn', op: '$regex', pattern: '/^net/' }],
        unit: 'mb1024',
        volume_src: ['asked'],
        rating_group_field: 'rg',
      },
    ],
  },
  customer_identification_fields: {
    '*': [{ src_key: 'line', target_key: 'msisdn', clear_regex: '/^tel:/' }],
  },
  rate_calculators: {
    retail: {
      '*': {
        priorities: [{ filters: [{ type: 'match', rate_key: 'params.apn', line_key: 'apn' }] }],
      },
    },
  },
  realtime: {
    request_type_field: 'type',
    session_id_fields: ['sess', 'line'],
    used_usagev_field: ['used'],
    services_field: 'units',
    requested_field: 'asked',
    default_values: { start_request: 1000 },
  },
  response: {
    fields: [
      { response_field_name: 'code', row_field_name: 'return_code' },
      { response_field_name: 'given', row_field_name: 'granted_volume' },
    ],
  },
  filters: [{ conditions: [{ field_name: 'free', op: '$eq', value: 'yes' }], skip_calc: ['all'] }],
}

const START = {
  type: 1,
  sess: 's1',
  line: 'tel:4477',
  when: '2026-01-02 03:04:05',
  debug: 'x',
  apn: 'net.home',
  units: [{ rg: 7, asked: '2.5' }, { rg: 8 }],
}

async function check(document: unknown, message: unknown) {
  const file = tollgate.file('document.json', JSON.stringify(document))
  const text = typeof message === 'string' ? message : JSON.stringify(message)
  const sample = ['--sample', tollgate.file('sample', text)]
  const { code, stdout, stderr } = await tollgate.run(
    'filetype',
    'check',
    file,
    ...sample,
    '--json',
  )
  expect(stderr).toBe('')
  const report = JSON.parse(stdout) as CheckReport
  const of = (step: string) => report.steps.find((each) => each.step === step)
  const steps = report.steps.map(({ step }) => step)
  return { code, ok: report.ok, of, steps }
}

describe('tollgate filetype check', () => {
  it('shows step by step how a message is decoded', async () => {
    const { code, ok, of, steps } = await check(GY, START)
    expect([code, ok]).toEqual([0, true])
    expect(steps).toEqual([
      'document',
      'message',
      'request type',
      'session',
      'request number',
      'event time',
      'services.0',
      'services.1',
      'subscriber',
      'rating',
      'request',
      'answer if granted',
      'answer if denied',
    ])
    expect(of('message')?.result).toEqual(START)
    expect(of('request type')?.result).toEqual({
      fields: { type: 1 },
      kind: 'start',
      record_type: 'start_request',
    })
    expect(of('session')?.result).toEqual({
      fields: { sess: 's1', line: 'tel:4477' },
      session_id: 's1;tel:4477',
    })
    expect(of('event time')?.result).toEqual({ fields: { when: '2026-01-02 03:04:05' } })
    expect(of('request')?.result).toMatchObject({
      kind: 'start',
      sessionId: 's1;tel:4477',
      services: [
        { ratingGroup: 7, requested: 2_621_440 },
        { ratingGroup: 8, requested: 1000 },
      ],
    })
  })

  it('shows for each service which entry matched, and its volumes', async () => {
    const { of } = await check(GY, START)
    expect(of('services.0')?.result).toEqual({
      mapping: 'processor.usaget_mapping.1',
      usaget: 'data',
      unit: 'mb1024',
      requested: { fields: { asked: '2.5' }, base_units: 2_621_440, default: null },
      used: { fields: { used: null }, base_units: 0, is_total: false },
      filter: 'none',
    })
    const requested = { fields: { asked: null }, base_units: null, default: 1000 }
    expect(of('services.1')?.result).toMatchObject({ requested })
    const sms = await check(GY, { ...START, apn: 'sms', units: [{}] })
    expect(sms.of('services.0')?.result).toMatchObject({
      mapping: 'processor.usaget_mapping.0',
      requested: { constant: 1, base_units: 1 },
    })
    const update = await check(GY, { ...START, type: 2, units: [{ rg: 7, used: 1 }] })
    expect(update.of('services.0')?.result).toMatchObject({
      requested: { base_units: null, default: null },
      used: { fields: { used: 1 }, base_units: 1_048_576 },
    })
  })

  it('shows which subscriber is looked up, how usage is rated, and both answers', async () => {
    const { of } = await check(GY, { ...START, units: [{ rg: 7, asked: 1 }] })
    expect(of('subscriber')?.result).toEqual({
      named: null,
      services: [{ usaget: 'data', looked_for: ['msisdn 4477'] }],
    })
    expect(of('rating')?.result).toMatchObject({ services: [{ fields: { apn: 'net.home' } }] })
    expect(of('answer if granted')?.result).toBe('{"code":1,"given":1048576}')
    expect(of('answer if denied')?.result).toBe('{"code":-1,"given":0}')
  })

  it('shows what filters exclude from charging', async () => {
    const { ok, of } = await check(GY, { ...START, free: 'yes', units: [{ rg: 7, asked: 1 }] })
    expect([ok, of('services.0')?.result]).toMatchObject([true, { filter: 'skip' }])
    expect(of('request')?.result).toContain('is not charged')
    expect(of('answer if granted')?.result).toBe('{"code":1,"given":1048576}')
    expect(of('answer if denied')).toBeUndefined()
  })

  it('shows the decode errors of a message, and the answer to it', async () => {
    const { code, ok, of } = await check(GY, { ...START, when: 'soon' })
    expect([code, ok, of('request')]).toMatchObject([1, false, { ok: false }])
    expect(of('request')?.result).toMatchObject({ field: 'when' })
    expect(of('answer')?.result).toContain('when')
    const typeless = await check(GY, { ...START, type: 9 })
    expect(typeless.of('request type')).toMatchObject({
      ok: false,
      result: { fields: { type: 9 } },
    })
    const other = await check(GY, { ...START, apn: 'fax' })
    expect(other.of('services.0')?.result).toEqual({ mapping: null })
    const noJson = await check(GY, '{')
    expect(noJson.steps).toEqual(['document', 'message', 'answer'])
    expect(noJson.of('message')).toMatchObject({ ok: false, result: { why: 'is not JSON' } })
  })

  it('warns of values that unescaping changes', async () => {
    const pairs = {
      file_type: 'KV',
      processor: { usaget_mapping: [{ usaget: 'data', volume_src: 'want' }] },
      realtime: {
        request_type_field: 'type',
        session_id_fields: 'call',
        used_usagev_field: 'used',
      },
      customer_identification_fields: { '*': [{ src_key: 'line', target_key: 'msisdn' }] },
      response: { fields: [{ response_field_name: 'code', row_field_name: 'return_code' }] },
    }
    const parser = { type: 'key_value' }
    const text = 'type=1&call=a%2Fb&line=+4917&want=10&list.0=x+y'
    const { of } = await check({ ...pairs, parser }, text)
    expect(of('warning: unescaped values')).toMatchObject({
      ok: true,
      result: {
        call: { sent: 'a%2Fb', read: 'a/b' },
        line: { sent: '+4917', read: ' 4917' },
        'list.0': { sent: 'x+y', read: 'x y' },
      },
    })
    const own = { ...pairs, parser: { ...parser, pair_separator: ';' } }
    const plain = await check(own, text.replaceAll('&', ';'))
    expect(plain.of('warning: unescaped values')).toBeUndefined()
    expect(plain.of('message')?.result).toMatchObject({ call: 'a%2Fb', line: '+4917' })
  })

  it('shows the errors of a document', async () => {
    const document = { ...GY, parser: { type: 'tap3' } }
    const { code, steps, of } = await check(document, START)
    expect([code, steps]).toEqual([1, ['document']])
    expect(of('document')?.result).toMatchObject({ path: 'file_types.GY.parser.type' })
  })

  it('prints a readable report, without control characters of the message', async () => {
    const file = tollgate.file('document.json', JSON.stringify(GY))
    const message = { ...START, '\u001b[2J': '\u001b[2J', units: [] }
    const ended = await tollgate.pipe(
      JSON.stringify(message),
      'filetype',
      'check',
      file,
      '--sample',
      '-',
    )
    expect(ended.code).toBe(1)
    expect(ended.stdout).toContain('document\n  file_type: "GY"\n')
    expect(ended.stdout).toContain('session\n  fields\n    sess: "s1"\n')
    expect(ended.stdout).toContain('request: not usable\n  field: "units"\n')
    expect(ended.stdout).not.toContain('\u001b')
  })

  it.each([
    [['-', '--sample', '-'], 2, 'only one of FILE and --sample can be standard input'],
    [['-'], 2, '--sample is missing'],
    [['-', '--sample', '/nowhere/body'], 1, 'cannot read /nowhere/body'],
  ])('refuses %j', async (args, code, message) => {
    const ended = await tollgate.pipe(JSON.stringify(GY), 'filetype', 'check', ...args)
    expect([ended.code, ended.stdout]).toEqual([code, ''])
    expect(ended.stderr).toContain(message)
  })
})

describe('tollgate filetype check of record files', () => {
  it('shows how each record is mapped, and counts all', async () => {
    const calls = '2026-05-01 10:00:00,49301234,4930,61\n'.repeat(22)
    const { code, of, steps } = await check(recordDocument(), `${calls}x,y\n`)
    expect(code).toBe(1)
    const shown = Array.from({ length: 20 }, (_, index) => `records.${index + 1}`)
    expect(steps).toEqual(['document', ...shown, 'file'])
    expect(of('document')?.result).toEqual({
      file_type: 'CDR',
      type: 'usage',
      parser: 'separator',
      enabled: true,
    })
    expect(of('records.2')).toMatchObject({
      ok: true,
      result: {
        text: '2026-05-01 10:00:00,49301234,4930,61',
        columns: { caller: '49301234', seconds: '61' },
        event_time: { when: '2026-05-01 10:00:00' },
        mapping: 'processor.usaget_mapping.0',
        unit: 'seconds',
        used: { fields: { seconds: '61' } },
        subscriber: { services: [{ looked_for: ['msisdn 49301234'] }] },
        request: { kind: 'event', services: [{ requested: -1, used: 61 }] },
      },
    })
    const result = { records: 23, shown: 20, unreadable: [23] }
    expect(of('file')).toEqual({ step: 'file', ok: false, result })
  })

  it('says which column is wrong', async () => {
    const parser = { ...CSV, csv_has_header: true }
    const filters = [
      { conditions: [{ src_field: 'called', op: '$eq', pattern: 'x' }], skip_calc: ['all'] },
    ]
    const lines = ['a,b,c,d', '2026-05-01 10:00:00,1', 'yesterday,1,2,3']
    const { of, steps } = await check(
      recordDocument({ parser, filters }),
      [...lines, '2026-05-01 10:00:00,1,x,3'].join('\n'),
    )
    expect(steps.slice(1, 5)).toEqual(['records.1', 'records.2', 'records.3', 'records.4'])
    expect(of('records.1')?.result).toEqual({ text: 'a,b,c,d', control: true })
    expect(of('records.2')).toMatchObject({ ok: false, result: { field: 'called' } })
    const why = expect.stringMatching(/^must be ISO 8601/)
    expect(of('records.3')).toMatchObject({ ok: false, result: { field: 'when', why } })
    const request = expect.stringContaining('filters exclude')
    expect(of('records.4')).toMatchObject({ ok: true, result: { request } })
  })
})

describe('tollgate filetype check --samples', () => {
  const run = (...args: string[]) => tollgate.run('filetype', 'check', ...args)
  const sampleOf = async (name: string, message: object) => {
    const file = tollgate.file('document.json', JSON.stringify(GY))
    const text = JSON.stringify(message)
    const { stdout } = await run(file, '--sample', tollgate.file('sample', text), '--json')
    return { name, message: text, expect: JSON.parse(stdout).expect }
  }
  const changed = { ...GY, realtime: { ...GY.realtime, session_id_fields: ['sess'] } }

  it('checks a stored file type by its name, and a changed document with its samples', async () => {
    const samples = [await sampleOf('a start', START), await sampleOf('wrong', { type: 1 })]
    const stored = tollgate.file('stored.json', JSON.stringify({ ...GY, samples }))
    await tollgate.run('filetype', 'set', stored)
    const good = await run('GY', '--samples')
    expect(good).toMatchObject({ code: 0, stderr: '', stdout: 'ok  a start\nok  wrong\n' })
    const file = tollgate.file('changed.json', JSON.stringify(changed))
    const { code, stdout } = await run(file, '--samples')
    expect(code).toBe(1)
    expect(stdout).toContain('differs  a start\n  request.sessionId: expected "s1')
    const json = await run(file, '--samples', '--json')
    expect(JSON.parse(json.stdout)).toMatchObject({ ok: false, samples: [{ ok: false }, {}] })
  })

  it('keeps them when a document without samples is stored', async () => {
    const samples = [await sampleOf('a start', START)]
    for (const document of [{ ...GY, samples }, changed]) {
      await tollgate.run('filetype', 'set', tollgate.file('set.json', JSON.stringify(document)))
    }
    expect(await run('GY', '--samples')).toMatchObject({ code: 1 })
    const none = tollgate.file('none.json', JSON.stringify({ ...changed, samples: [] }))
    await tollgate.run('filetype', 'set', none)
    expect(await run('GY', '--samples')).toMatchObject({ code: 0, stdout: 'GY has no samples\n' })
  })

  it('refuses an unknown name, and a message beside', async () => {
    expect(await run('NONE', '--samples')).toMatchObject({ code: 1 })
    const file = tollgate.file('document.json', JSON.stringify(GY))
    const both = await run(file, '--samples', '--sample', 'x')
    expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining('only one of') })
  })
})
