/** Shows both documents by Scalar, which sends no request but those for them here. */
const SOURCES = { 'Control plane': 'openapi.json', Charging: 'openapi/realtime.json' }

globalThis.Scalar.createApiReference('#api', {
  sources: Object.entries(SOURCES).map(([title, path]) => {
    return { title, url: new URL(path, document.baseURI).href }
  }),
  // These ask other hosts, or send what a reader has typed to them.
  agent: { disabled: true },
  mcp: { disabled: true },
  telemetry: false,
  withDefaultFonts: false,
  hideClientButton: true,
  hideTestRequestButton: true,
  persistAuth: false,
  showDeveloperTools: 'never',
  // Examples are those of the documents.
  hiddenClients: true,
  documentDownloadType: 'direct',
  // Colours with the contrast that WCAG 2.2 AA asks for.
  customCss: `
    .light-mode {
      --scalar-color-3: #6b6b6b;
      --scalar-color-green: #007a4d;
      --scalar-color-orange: #b84300;
    }
    .dark-mode { --scalar-color-3: #909090; }`,
})
