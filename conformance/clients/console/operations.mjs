// Checks of the pages Configuration and Live, which run.mjs runs. The gateway was started with a file, whose last
// reload changed the timeout of the model 'fraud' to 20s, and whose last version has the unknown key 'modles' in its
// first line. Its models 'fraud' and 'score' are called all the time; 'fraud' fails.

export async function operations({ open, check, expect, until, accessible, picture, admin, token }) {
  const page = await open(`${admin}/#/configuration`, { colorScheme: 'light' });
  const result = page.locator('.result');
  const compare = async (text) => {
    await page.fill('#what-if', text);
    await page.getByRole('button', { name: 'Compare' }).click();
  };

  await check('configuration: what is set, the last reload, the rejected file', async () => {
    await page.waitForSelector('.lines tbody tr');
    expect('set', await page.locator('.lines tr.set', { hasText: 'timeout: 20s' }).count(), 1);
    expect('default', await page.locator('.lines tr:not(.set)', { hasText: 'max_body_size: 64MiB' }).count(), 1);
    expect('last reload', await page.locator('section', { hasText: 'Last reload' }).first().innerText(), /model 'fraud': timeout: none -> 20s/);
    expect('rejected', await page.locator('section', { hasText: 'Last rejected file' }).first().innerText(), /line 1, column 1: unknown key 'modles'/);
    await page.check('#only-set');
    expect('hidden', await page.locator('.lines tr', { hasText: 'max_body_size: 64MiB' }).isVisible(), false);
  });

  await check('configuration: what another file would change', async () => {
    await compare('models: {}');
    await page.waitForSelector('#login-dialog[open]');
    await page.fill('#token', token);
    await page.press('#token', 'Enter');
    await page.waitForSelector('#login-dialog', { state: 'hidden' });
    await compare('models: {"<b>": {upstream: nowhere}}');
    await until('refused', () => result.innerText(), /would reject it[\s\S]*line 1, column \d+: model '<b>'.*'nowhere'/);
    
    await compare('listeners: [{port: 0}]\nlocal: {embedded_models: true}\nadmin: {port: 1}\nmodels: {digits: {upstream: local}}');
    await until('accepted', () => result.innerText(), /would accept it[\s\S]*model 'digits': added[\s\S]*restart only[\s\S]*admin/);
    await accessible(page, 'a comparison');
    await picture(page, 'configuration');
  });

  await check('live: calls appear, failed ones open, filters hold', async () => {
    await page.click('nav a[href="#/live"]');
    const rows = page.locator('.page.live tbody tr');
    await until('calls', () => rows.first().innerText(), /score/);
    await page.selectOption('select', 'failed');
    await page.getByLabel('Model').fill('fraud');
    await page.getByLabel('Model').press('Enter');
    await until('failed calls', () => rows.first().innerText(), /503 UNAVAILABLE[\s\S]*fraud/);
    expect('others', await rows.filter({ hasText: 'score' }).count(), 0);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.locator('.opener').first().click();
    expect('details', await page.locator('tr.below').innerText(), /Reason[\s\S]*not reachable[\s\S]*upstream down[\s\S]*Request id/);
    await accessible(page, 'an opened call');
    await picture(page, 'live');
  });

  await check('live: a page that is left asks for nothing', async () => {
    await page.click('nav a[href="#/configuration"]');
    await page.waitForSelector('.page.configuration h1');
    const asked = () => page.evaluate(() => performance.getEntriesByType('resource').filter((entry) => entry.name.includes('/debug/calls')).length);
    const before = await asked();
    await page.waitForLoadState('networkidle');
    expect('requests', (await asked()) - before, 0);
    await page.context().close();
  });
}
