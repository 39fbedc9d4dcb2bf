/** Texts of the frame and of the parts that all pages use. */
export const FRAME = {
  'frame.skip': 'Skip to the content',
  'frame.pages': 'Pages',
  'frame.page': '{page} · Tollgate',
  'frame.reload': 'The console has been updated. Reload this page.',
  'frame.notFound': 'There is no page at this address.',
  'page.overview': 'Overview',
} as const
