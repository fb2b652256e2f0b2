//! Chunking with the csv crate: the number and three columns of each record, a file for so many.
//! split SOURCE FOLDER RECORDS
use std::{env, error::Error, fs::File, io::BufWriter};

fn main() -> Result<(), Box<dyn Error>> {
    let [source, folder, records] = <[String; 3]>::try_from(env::args().skip(1).collect::<Vec<_>>())
        .map_err(|_| "usage: split SOURCE FOLDER RECORDS")?;
    let most: u64 = records.parse()?;
    let mut reader = csv::ReaderBuilder::new().buffer_capacity(1 << 18).from_path(source)?;
    let mut record = csv::ByteRecord::new();
    let mut writer: Option<csv::Writer<BufWriter<File>>> = None;
    let mut number = 0u64;
    while reader.read_byte_record(&mut record)? {
        if number % most == 0 {
            if let Some(mut full) = writer.take() {
                full.flush()?;
            }
            let file = File::create(format!("{folder}/chunk-{:06}.csv", number / most + 1))?;
            let mut next = csv::Writer::from_writer(BufWriter::with_capacity(1 << 18, file));
            next.write_record(["record_id", "name", "address", "state"])?;
            writer = Some(next);
        }
        number += 1;
        let key = number.to_string();
        writer.as_mut().unwrap().write_record([key.as_bytes(), &record[1], &record[2], &record[4]])?;
    }
    if let Some(mut last) = writer {
        last.flush()?;
    }
    Ok(())
}
