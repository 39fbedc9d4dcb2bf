/** Files of charging data records (TS 32.298, TS 32.297): records, places and errors. */
import { describe, expect, it } from 'vitest'
import { RECORD_BYTES_MAX } from '../../../src/file-types/records/framing.ts'
import type { FileRecord } from '../../../src/file-types/records/record-files.ts'
import {
  cdrFile,
  container,
  group,
  member,
  openGroup,
  pgwRecord,
  text,
  value,
} from '../../support/file-types/ber.ts'
import { readChunks } from '../../support/file-types/records.ts'
import type { Fields } from '../../support/file-types/sample.ts'

const BER = { type: 'ber' }
const CDRS = { type: 'ber', file_format: 'ts32297' }
const IMSI = '621121436587f9'
const call = (called: string) =>
  group(0, value(0, '00'), value(1, IMSI), value(5, called), value(25, '3d'))
const simple = (number: number) => group(79, value(0, '55'), value(20, Buffer.of(number)))

/** Each record as `number: columns`, or with its problem. */
const shown = (records: readonly FileRecord[]) =>
  records.map(({ line, message, problem, isControl }) => {
    if (problem !== null) return `${line}: ${problem.field} ${problem.why}`
    return isControl ? `${line}: control` : `${line}: ${JSON.stringify(message)}`
  })
const read = (parser: Fields, ...chunks: Buffer[]) => shown(readChunks(parser, chunks))
const messageOf = (record: Buffer, parser: Fields = BER) =>
  readChunks(parser, [record])[0]?.message as Fields
const seven = (number: number) => `${number}: {"recordType":85,"localSequenceNumber":${number}}`

describe('a record', () => {
  it('has its fields by the names of TS 32.298, with their values', () => {
    expect(messageOf(pgwRecord(IMSI, container(10, 1000, 2 ** 40), container(20, 5, 0)))).toEqual({
      recordType: 85,
      servedIMSI: '2611123456789',
      'p-GWAddress': '10.0.0.1',
      chargingID: 0xabcdef,
      servingNodeAddress: ['10.0.0.2', '10.0.0.3'],
      accessPointNameNI: 'internet',
      recordOpeningTime: '2026-05-01T12:00:00+02:00',
      duration: 3600,
      causeForRecClosing: 0,
      localSequenceNumber: 7,
      servedMSISDN: '+49171000001',
      listOfServiceData: [
        {
          ratingGroup: 10,
          timeOfFirstUsage: '2026-05-01T12:00:00+02:00',
          serviceConditionChange: '0110',
          datavolumeFBCUplink: 1000,
          datavolumeFBCDownlink: 2 ** 40,
          timeOfReport: '2026-05-01T13:00:00+02:00',
        },
        expect.objectContaining({ ratingGroup: 20, datavolumeFBCUplink: 5 }),
      ],
    })
  })

  it.each<[string, Buffer, Fields]>([
    ['a call', call('a1947100f1'), { recordType: 0, calledNumber: '4917001' }],
    ['an international call', call('91947100f1'), { calledNumber: '+4917001' }],
    ['a call with octet 3a', call('1183947100f1'), { calledNumber: '+4917001' }],
    [
      'a short message',
      group(6, value(0, '06'), value(3, '91947100'), value(12, '0791947100f1')),
      { servedMSISDN: '+491700', destinationNumber: '+4917001' },
    ],
    [
      'a received message',
      group(7, value(0, '07'), value(4, '91947100'), value(8, '2605011200002d0330')),
      { servedMSISDN: '+491700', deliveryTime: '2026-05-01T12:00:00-03:30' },
    ],
    [
      'a message that was submitted to an SMS node',
      group(
        93,
        value(0, '5d'),
        value(1, '9194710000'),
        group(2, value(0, IMSI), value(1, '919471010000f1'), group(4, value(0, '01'))),
        group(3, member(value(1, '91947100f1')), member(group(7, member(text(1, 'INFO'))))),
        value(5, '2605011200002b0200'),
        value(6, '07'),
        value(11, 'ff'),
        value(14, ''),
        group(19, value(0, '15')),
        value(22, '2a'),
      ),
      {
        recordType: 93,
        sMSNodeAddress: '+49170000',
        originatorInfo: {
          originatorIMSI: '2611123456789',
          originatorMSISDN: '+49171000001',
          originatorReceivedAddress: { sMAddressType: 1 },
        },
        recipientInfo: [
          { recipientMSISDN: '+4917001' },
          { recipientOtherAddresses: [{ sMAddressData: 'INFO' }] },
        ],
        eventtimestamp: '2026-05-01T12:00:00+02:00',
        messageReference: '07',
        ...{ sMdeliveryReportRequested: true, sMReplyPathRequested: true },
        sMSResult: { gsm0408Cause: 21 },
        localSequenceNumber: 42,
      },
    ],
    [
      'a message that an SMS node has delivered',
      group(
        94,
        value(0, '5e'),
        group(2, value(1, '91947100f1'), value(3, '91947100f2')),
        group(3, group(5, text(0, 'smpp-1'), value(3, '03'))),
        value(5, '2605011200002b0200'),
        value(6, '2605011200052b0200'),
        value(18, '00'),
        value(26, '2a'),
      ),
      {
        recordType: 94,
        recipientInfo: { recipientMSISDN: '+4917001', recipientSCCPAddress: '+4917002' },
        originatorInfo: { sMOriginatorInterface: { interfaceId: 'smpp-1', interfaceType: 3 } },
        submissionTime: '2026-05-01T12:00:00+02:00',
        eventtimestamp: '2026-05-01T12:00:05+02:00',
        ...{ sMSStatus: '00', localSequenceNumber: 42 },
      },
    ],
    [
      'a record of an SGSN',
      group(20, value(0, '12'), group(15, member(value(3, '64'), value(4, '00c8')))),
      { listOfTrafficVolumes: [{ dataVolumeGPRSUplink: 100, dataVolumeGPRSDownlink: 200 }] },
    ],
    [
      'IPv6, an address as text, and a prefix',
      group(79, value(0, '55'), group(4, value(1, '20010db8000000000000000000000001'))),
      { 'p-GWAddress': '2001:db8::1' },
    ],
    [
      'a nested choice of addresses',
      group(79, value(0, '55'), group(9, group(0, text(2, '10.1.2.3')))),
      { servedPDPPDNAddress: '10.1.2.3' },
    ],
    [
      'integers of any length',
      group(
        79,
        value(0, '55'),
        value(5, '00ffffffff'),
        value(17, 'ff'),
        value(20, '0'.repeat(3) + '1'.repeat(13)),
      ),
      { chargingID: 4294967295, recordSequenceNumber: -1 },
    ],
    ['no outer tag', Buffer.from('3106800155810102', 'hex'), { recordType: 85, 1: '02' }],
  ])('may be %s', (_name, record, fields) => expect(messageOf(record)).toMatchObject(fields))

  it('has values that are not of their type in hexadecimal, marked', () => {
    const record = group(
      79,
      value(0, '55'),
      value(3, '12f345'),
      value(13, '260501120000'),
      value(14, ''),
    )
    expect(messageOf(record)).toEqual({
      recordType: 85,
      servedIMSI: '0x12f345',
      recordOpeningTime: '0x260501120000',
      duration: '0x',
    })
  })

  it('has what the specification does not name by its tags', () => {
    const inner = group(249, value(1, '0102'), member(Buffer.from('0c024142', 'hex')))
    const record = group(79, value(0, '55'), inner, Buffer.from('45020304', 'hex'))
    expect(messageOf(record)).toEqual({
      recordType: 85,
      249: { 1: '0102', U16: ['AB'] },
      A5: '0304',
    })
    const list = group(80, value(0, '7f'), group(3, member(value(1, 'aa')), member(value(1, 'bb'))))
    expect(messageOf(list)).toEqual({ 0: '7f', 3: [{ 1: 'aa' }, { 1: 'bb' }] })
    expect(messageOf(group(80, value(1, '01'), value(1, '02'), value(1, '03')))).toEqual({
      1: ['01', '02', '03'],
    })
  })

  it('has fields that the document names', () => {
    const structure = [
      { name: 'minutes', tag: '249.1', type: 'integer' },
      { name: 'site', tag: '34.99', type: 'text' },
      { name: 'imsi', tag: '3', type: 'hex' },
    ]
    const record = group(
      ...([79, value(0, '55'), value(3, IMSI), group(249, value(1, '0102'))] as const),
      group(34, member(value(1, '0a'), text(99, 'A')), member(value(1, '0b'), text(99, 'B'))),
    )
    expect(messageOf(record, { ...BER, structure })).toEqual({
      recordType: 85,
      imsi: IMSI,
      249: { minutes: 258 },
      listOfServiceData: [
        { ratingGroup: 10, site: 'A' },
        { ratingGroup: 11, site: 'B' },
      ],
    })
    const other = group(80, value(0, '7f'), group(249, value(1, '05')))
    expect(messageOf(other, { ...BER, structure })).toEqual({ 0: '7f', 249: { minutes: 5 } })
  })

  it('is the same with marked ends, and with texts in parts', () => {
    const parts = openGroup(3, Buffer.from('0403621121', 'hex'), Buffer.from('0404436587f9', 'hex'))
    const record = openGroup(79, value(0, '55'), parts, openGroup(34, container(1, 2, 3)))
    expect(messageOf(record)).toMatchObject({
      servedIMSI: '2611123456789',
      listOfServiceData: [{ ratingGroup: 1, datavolumeFBCUplink: 2, datavolumeFBCDownlink: 3 }],
    })
  })
})

describe('a plain file', () => {
  const fill = (hex: string, count: number) => Buffer.from(hex.repeat(count), 'hex')

  it('has records one after the other, with fillers of blocks anywhere', () => {
    expect(read(BER, simple(1), simple(2))).toEqual([seven(1), seven(2)])
    const chunks = [fill('ff', 3), simple(1), fill('00', 2048), simple(2), fill('ff', 9)]
    expect(read(BER, Buffer.concat(chunks))).toEqual([seven(1), seven(2)])
    expect(read(BER)).toEqual([])
    expect(read(BER, fill('00', 5))).toEqual([])
  })

  it('says which record is cut off, and where', () => {
    const whole = simple(2)
    expect(read(BER, simple(1), whole.subarray(0, 5))).toEqual([
      seven(1),
      `2: record is cut off: 5 of ${whole.length} bytes (byte ${simple(1).length})`,
    ])
    expect(read(BER, simple(1), whole.subarray(0, 1))).toEqual([
      seven(1),
      `2: record is cut off (byte ${simple(1).length})`,
    ])
    expect(read(BER, openGroup(79, value(0, '55')).subarray(0, 6))).toEqual([
      '1: record is cut off (byte 0)',
    ])
  })

  it('goes on behind a record that is too long, or is wrong inside', () => {
    const long = group(79, value(0, '55'), value(32, Buffer.alloc(RECORD_BYTES_MAX)))
    const wrong = Buffer.from('bf4f0480058055', 'hex')
    const [first, second, third] = readChunks(BER, [Buffer.concat([long, wrong, simple(3)])])
    expect(first).toMatchObject({
      text: long.toString('hex', 0, 256),
      problem: { why: `is longer than ${RECORD_BYTES_MAX} bytes (byte 0)` },
    })
    expect(second?.problem?.why).toMatch(new RegExp(`^is not BER: .* \\(byte ${long.length}\\)$`))
    expect(shown([third as FileRecord])).toEqual([seven(3)])
  })

  it('is refused where its contents are not of their type', () => {
    const wrong = member(Buffer.from('180141', 'hex'))
    const [first, second] = readChunks(BER, [Buffer.concat([wrong, simple(2)])])
    expect(first?.problem?.why).toMatch(/^is not BER: .* \(byte 0\)$/)
    expect(shown([second as FileRecord])).toEqual([seven(2)])
  })

  it('fails the file if it ends before a record that is too long', () => {
    const long = group(79, value(32, Buffer.alloc(2 * RECORD_BYTES_MAX)))
    const cut = long.subarray(0, RECORD_BYTES_MAX + 100)
    const { length } = simple(1)
    for (const end of [cut, cut.subarray(0, 20)]) {
      const records = readChunks(BER, [Buffer.concat([simple(1), end])])
      const why = `is cut off: ${end.length} of ${long.length} bytes (byte ${length})`
      expect(shown(records)).toEqual([seven(1), `2: record ${why}: the rest is not read`])
      expect(records[1]).toMatchObject({ isControl: true, next: { offset: length + end.length } })
    }
  })

  it.each<[string, string]>([
    ['0201050102', 'is no constructed value'],
    ['bf8f8f8f8f0100', 'has a tag of more than 4 bytes'],
    ['a0850000000001', 'has a length of more than 4 bytes'],
    ['a0ff', 'has a length of more than 4 bytes'],
    ['a0808080', 'has a primitive value of indefinite length'],
    ['a0800001', 'has end-of-contents octets with a length'],
    ['a080'.repeat(40), 'is nested deeper than 32 levels'],
  ])('ends where no record begins: %s', (hex, why) => {
    const rest = Buffer.from(hex, 'hex')
    const from = simple(1).length
    expect(read(BER, simple(1), rest, simple(2))).toEqual([
      seven(1),
      `2: record ${why} (byte ${from}): the rest is not read`,
    ])
    const [, control] = readChunks(BER, [Buffer.concat([simple(1), rest])])
    expect(control).toMatchObject({ isControl: true, next: { offset: from + rest.length } })
  })

  it('refuses records with too many values or levels, or an open end too far away', () => {
    const deep = Array.from({ length: 40 }).reduce<Buffer>(
      (inner) => group(1, inner),
      value(0, '00'),
    )
    const many = group(79, ...Array.from({ length: 5000 }, () => value(0, '01')))
    const open = openGroup(79, value(32, Buffer.alloc(60_000)), value(32, Buffer.alloc(60_000)))
    const before = deep.length + many.length
    expect(read(BER, deep, many, open)).toEqual([
      '1: record is nested deeper than 32 levels (byte 0)',
      `2: record has more than 4096 values (byte ${deep.length})`,
      `3: record is longer than ${RECORD_BYTES_MAX} bytes (byte ${before}): the rest is not read`,
    ])
  })
})

describe('a file of TS 32.297', () => {
  const file = cdrFile([simple(1), simple(2)])

  it('has a header, and one for each record', () => {
    const records = readChunks(CDRS, [file])
    expect(shown(records)).toEqual(['0: control', seven(1), seven(2)])
    expect(records[1]).toMatchObject({ text: simple(1).toString('hex') })
    const short = Buffer.concat([file.subarray(0, 54), Buffer.from('00095f27', 'hex'), simple(1)])
    short.writeUInt32BE(0xffff_ffff, 0)
    short.writeUInt32BE(0xffff_ffff, 18)
    expect(read(CDRS, short)).toEqual(['0: control', seven(1)])
  })

  it('may have fillers between and inside its records', () => {
    const padded = Buffer.concat([simple(2), Buffer.alloc(5)])
    for (const filler of ['0000', '000000', 'ffff', 'ffffff']) {
      const fill = Buffer.from(filler, 'hex')
      const [one, two] = [cdrFile([simple(1)]), cdrFile([padded]).subarray(54)]
      one.writeUInt32BE(2, 18)
      expect(read(CDRS, Buffer.concat([one, fill, two, fill]))).toEqual([
        ...['0: control', seven(1), seven(2)],
      ])
    }
  })

  it('is not what its header says if records are missing', () => {
    expect(read(CDRS, cdrFile([simple(1)], { records: 3 }))).toEqual([
      ...['0: control', seven(1)],
      '2: number of CDRs is 3, and the file has 1 records',
    ])
    const missing = cdrFile([simple(1)], { bytes: 99, records: 0xffff_ffff })
    expect(read(CDRS, missing)).toEqual([
      ...['0: control', seven(1)],
      `2: file length is 99, and the file has ${missing.length} bytes`,
    ])
    expect(read(CDRS, file.subarray(0, -3))).toEqual([
      ...['0: control', seven(1)],
      `2: record is cut off: ${simple(2).length - 3} of ${simple(2).length} bytes (byte 73)`,
      `3: file length is ${file.length}, and the file has ${file.length - 3} bytes`,
    ])
  })

  it('knows its header where it is resumed', () => {
    const short = file.subarray(0, -simple(2).length - 5)
    const [, first] = readChunks(CDRS, [short])
    const next = first?.next as FileRecord['next']
    expect(next).toMatchObject({ records: 1, header: { bytes: file.length, records: 2 } })
    expect(shown(readChunks(CDRS, [file.subarray(next.offset)], next))).toEqual([seven(2)])
    expect(shown(readChunks(CDRS, [], next))).toEqual([
      '2: number of CDRs is 2, and the file has 1 records',
    ])
  })

  it('goes on behind a record that is wrong', () => {
    const other = cdrFile([simple(1)])
    other[54 + 3] = 0x47
    const bad = cdrFile([
      Buffer.from('bf4f0480058055', 'hex'),
      simple(2),
      Buffer.from('0102', 'hex'),
    ])
    expect(read(CDRS, other)).toEqual([
      '0: control',
      '1: record is of data record format 2, not of BER (1) (byte 59)',
    ])
    const [, first, second, third] = read(CDRS, bad)
    expect(first).toMatch(/^1: record is not BER: .* \(byte 59\)$/)
    expect(second).toBe(seven(2))
    expect(third).toMatch(/^3: record is not BER/)
  })

  it.each<[string, Buffer, string]>([
    ['a plain file', simple(1), 'is not a file header of TS 32.297: its length is 22385665'],
    ['a part of one', file.subarray(0, 50), 'is a file header that is cut off'],
    ['a small header', Buffer.from('0000000000000007', 'hex'), 'its length is 7'],
    ['a large header', Buffer.from('00000000ffffffff', 'hex'), 'its length is 4294967295'],
  ])('is refused if it is %s', (_name, bytes, why) => {
    const [only, ...others] = read(CDRS, bytes)
    expect(only).toContain(why)
    expect(only).toMatch(/\(byte 0\): the rest is not read$/)
    expect(others).toEqual([])
  })
})
