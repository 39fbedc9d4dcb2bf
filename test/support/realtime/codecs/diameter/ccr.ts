/** One credit-control request in several forms, composed for tests. */

/** As a message. */
export const update = {
  'Session-Id': 'pgw1;1;7',
  'Service-Context-Id': '32251@3gpp.org',
  'CC-Request-Type': 2,
  'CC-Request-Number': 3,
  'Subscription-Id': [
    { 'Subscription-Id-Type': 0, 'Subscription-Id-Data': '972501234567' },
    { 'Subscription-Id-Type': 1, 'Subscription-Id-Data': '425010000000001' },
  ],
  'QoS-Information': { 'QoS-Class-Identifier': 9 },
  'Multiple-Services-Credit-Control': [
    {
      'Rating-Group': 10,
      'Requested-Service-Unit': {},
      'Used-Service-Unit': { 'CC-Total-Octets': 1000, 'CC-Time': 60 },
      'Reporting-Reason': 3,
    },
    {
      'Rating-Group': 20,
      'Used-Service-Unit': [
        { 'CC-Input-Octets': 30, 'CC-Output-Octets': 12 },
        { 'CC-Total-Octets': 8 },
      ],
    },
  ],
}

export const byNames: Record<string, unknown> = update

export const byCodes = {
  '263': 'pgw1;1;7',
  '461': '32251@3gpp.org',
  '416': 2,
  '415': 3,
  '443': [
    { '450': 0, '444': '972501234567' },
    { '450': 1, '444': '425010000000001' },
  ],
  '10415:1016': { '10415:1028': 9 },
  '456': [
    { '432': 10, '437': {}, '446': { '421': 1000, '420': 60 }, '10415:872': 3 },
    { '432': 20, '446': [{ '412': 30, '414': 12 }, { '421': 8 }] },
  ],
}

/** As the package `diameter` represents it. */
export const pairs: [string, unknown][] = [
  ['Session-Id', 'pgw1;1;7'],
  ['Service-Context-Id', '32251@3gpp.org'],
  ['CC-Request-Type', 'UPDATE_REQUEST'],
  ['CC-Request-Number', 3],
  [
    'Subscription-Id',
    [
      ['Subscription-Id-Type', 'END_USER_E164'],
      ['Subscription-Id-Data', '972501234567'],
    ],
  ],
  [
    'Subscription-Id',
    [
      ['Subscription-Id-Type', 'END_USER_IMSI'],
      ['Subscription-Id-Data', '425010000000001'],
    ],
  ],
  ['QoS-Information', [['QoS-Class-Identifier', 9]]],
  [
    'Multiple-Services-Credit-Control',
    [
      ['Rating-Group', 10],
      ['Requested-Service-Unit', []],
      [
        'Used-Service-Unit',
        [
          ['CC-Total-Octets', { low: 1000, high: 0, unsigned: true }],
          ['CC-Time', 60],
        ],
      ],
      ['Reporting-Reason', 'QUOTA_EXHAUSTED'],
    ],
  ],
  [
    'Multiple-Services-Credit-Control',
    [
      ['Rating-Group', 20],
      [
        'Used-Service-Unit',
        [
          ['CC-Input-Octets', 30],
          ['CC-Output-Octets', 12],
        ],
      ],
      ['Used-Service-Unit', [['CC-Total-Octets', 8]]],
    ],
  ],
]

export interface Entry {
  code: number
  vendor: number
  value: unknown
}

const entry = (code: number, value: unknown, vendor = 0): Entry => ({ code, vendor, value })

export const entries: Entry[] = [
  entry(263, 'pgw1;1;7'),
  entry(461, '32251@3gpp.org'),
  entry(416, 2),
  entry(415, 3),
  entry(443, [entry(450, 0), entry(444, '972501234567')]),
  entry(443, [entry(450, 1), entry(444, '425010000000001')]),
  entry(1016, [entry(1028, 9, 10415)], 10415),
  entry(456, [
    entry(432, 10),
    entry(437, []),
    entry(446, [entry(421, 1000), entry(420, 60)]),
    entry(872, 3, 10415),
  ]),
  entry(456, [
    entry(432, 20),
    entry(446, [entry(412, 30), entry(414, 12)]),
    entry(446, [entry(421, 8)]),
  ]),
]
