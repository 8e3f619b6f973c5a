import { readFileSync } from 'node:fs';
import { Firestore } from 'firebase-admin/firestore';
import { startFirestore } from '../packages/firestore-local/src';
import { createLabelledBody } from './harness/creations';
import { PROJECT, startDeployedFunction } from './harness/deployed';
import { sendRequest } from './harness/http';
import { runProgram } from './harness/programs';
async function main() {
  const keys = Number(process.argv[2]), products = Number(process.argv[3]);
  const firestore = await startFirestore({ indexes: JSON.parse(readFileSync('firestore.indexes.json', 'utf8')) });
  const env = { FIRESTORE_EMULATOR_HOST: firestore.address, GCLOUD_PROJECT: PROJECT, METADATA_SERVER_DETECTION: 'none' };
  const db = new Firestore({ projectId: PROJECT, host: firestore.address, ssl: false });
  await db.doc('markets/market-1').set({ name: { en: 'Egypt' }, country_iso: 'egy', currency_iso: 'egp' });
  const f = await startDeployedFunction('functions/dist', 'addPriceLists', { ...env, API_KEY: 'k' });
  let t = performance.now();
  for (let i = 0; i < keys; i++) {
    const r = await sendRequest(f.port, { method: 'POST', headers: { 'x-api-key': 'k', 'content-type': 'application/json' }, body: JSON.stringify(createLabelledBody(`k${i}`, products)) });
    if (r.status !== 200) throw new Error(r.text);
  }
  console.log('filled', keys * products * 2, 'entries in', Math.round((performance.now() - t) / 1000), 's');
  await f.stop();
  for (const args of [['audit'], ['audit', '--json']]) {
    t = performance.now(); const cpu = process.cpuUsage();
    const out = await runProgram(process.execPath, ['functions/bin/price-lists.mjs', ...args], { env }).catch((e: unknown) => e as { stdout: string; stderr: string; code: number });
    const used = process.cpuUsage(cpu);
    console.log(args.join(' '), Math.round((performance.now() - t) / 1000), 's; processor time of Firestore', Math.round(used.user / 1e6), 's', out.stdout.slice(-300), out.stderr);
    break;
  }
  await db.terminate(); await firestore.close();
}
void main();
